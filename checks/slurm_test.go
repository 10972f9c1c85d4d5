package checks

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A job of deploy/slurm.sh uses the processors of its allocation and the name of its node. On
// SIGTERM, which Slurm sends before the end of the job, it delivers its counts, and the next job
// goes on. Slurm's variables and signals are imitated here; scripts/installed runs the script under
// Slurm.
func TestSlurm(t *testing.T) {
	state := t.TempDir()
	done := func() int {
		var run struct{ Done int }
		out, err := command(t, state, "coordinator", "runs", "--json").Output()
		if err != nil || json.Unmarshal(out, &run) != nil {
			t.Fatalf("runs prints %s (%v)", out, err)
		}
		return run.Done
	}
	coordinator := start(t,
		command(t, state, "coordinator", "count", "16", "--listen", "127.0.0.1:0", "--workers", "0"))
	coordinator.awaits("workers join with")
	first := slurmJob(t, state)
	first.awaits(" starts: 1 thread,")
	eventually(t, "tasks are done", func() bool { return done() > 0 })
	if counted, recorded := leave(first), done(); counted == 0 || recorded < counted {
		t.Errorf("the job has counted %d tasks, and %d are recorded", counted, recorded)
	}
	second := slurmJob(t, state)
	if total := coordinator.ends(); total != "14772512" {
		t.Errorf("the total is %s", total)
	}
	leave(second)
}

// slurmJob starts the script as Slurm does on a node.
func slurmJob(t *testing.T, state string) *process {
	t.Helper()
	job := exec.Command("bash", "../deploy/slurm.sh")
	job.Env = command(t, state, "worker").Env
	job.Env = append(job.Env, "WORKER="+filepath.Join(bin, "worker"), "SLURM_CPUS_ON_NODE=1",
		"SLURMD_NODENAME=node7.cluster")
	return start(t, job)
}

// leave ends a job as Slurm does, and returns how many tasks its worker has counted.
func leave(job *process) int {
	job.t.Helper()
	job.signal(syscall.SIGTERM)
	said := job.ends()
	number := regexp.MustCompile(
		`the worker leaves; it has counted ([0-9,]+) tasks?$`).FindStringSubmatch(said)
	if number == nil {
		job.t.Fatalf("the job ends with %q", said)
	}
	tasks, err := strconv.Atoi(strings.ReplaceAll(number[1], ",", ""))
	if err != nil {
		job.t.Fatal(err)
	}
	return tasks
}
