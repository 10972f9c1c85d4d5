package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// countTaskName is the subcommand that countAlone starts. It is for no person: worker task does the same.
const countTaskName = "count-task"

// countTaskCommand counts the exported task on its standard input, by the reference kernel on one thread, and
// prints its count as worker task does. It ends early when its standard input is closed: then the process
// that started it has ended.
func countTaskCommand() *cobra.Command {
	return &cobra.Command{
		Use:    countTaskName,
		Short:  "Count an exported task for a coordinator",
		Hidden: true,
		Args:   cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(os.Interrupt) // Ctrl-C is for the process that started this one, and ends both
			in := bufio.NewReader(cmd.InOrStdin())
			line, err := in.ReadBytes('\n')
			if err != nil {
				return fmt.Errorf("standard input has no task: %w", err)
			}
			ctx, stop := context.WithCancelCause(cmd.Context())
			defer stop(nil)
			go func() { // ends with the process
				_, _ = io.Copy(io.Discard, in)
				stop(errors.New("the process that asked for the count has ended"))
			}()
			return count.RecountLines(ctx, bytes.NewReader(line), cmd.OutOrStdout(), kernel.Reference(), 1)
		},
	}
}

// maxStderr bounds what an error repeats of the standard error of a process, in bytes: its end.
const maxStderr = 200

// countAlone counts a task in a process of its own, by the reference kernel: whatever of the task kills
// processes, such as a kernel in assembly or a lack of memory, kills that one. The error says how it has
// ended.
func countAlone(ctx context.Context, task *queens.Task) (run.TaskCount, error) {
	const k = 1 // the weight of the class, which plays no part
	line, err := json.Marshal(run.NewExportedTask(task, k, nil))
	if err != nil {
		return run.TaskCount{}, err
	}
	program, err := os.Executable()
	if err != nil {
		return run.TaskCount{}, fmt.Errorf("find this program: %w", err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, countTaskName)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	in, err := cmd.StdinPipe() // Wait closes it
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return run.TaskCount{}, fmt.Errorf("start %s %s: %w", program, countTaskName, err)
	}
	_, failed := in.Write(append(line, '\n'))
	if err := errors.Join(cmd.Wait(), failed); err != nil {
		said := bytes.TrimSpace(stderr.Bytes())
		return run.TaskCount{}, fmt.Errorf("%s %s: %w %s", program, countTaskName, err, said[max(0, len(said)-maxStderr):])
	}
	return readCount(task, stdout.Bytes())
}

// readCount returns the count of a task that a line of countTaskCommand says.
func readCount(task *queens.Task, line []byte) (run.TaskCount, error) {
	var r count.Recounted
	if err := json.Unmarshal(line, &r); err != nil {
		return run.TaskCount{}, fmt.Errorf("the count of task %d can't be read: %w", task.ID, err)
	}
	solutions, err := strconv.ParseUint(r.Count, 10, 64)
	switch {
	case r.Task != task.ID:
		return run.TaskCount{}, fmt.Errorf("the count is of task %d, not %d", r.Task, task.ID)
	case err != nil:
		return run.TaskCount{}, fmt.Errorf("the count of task %d: %w", task.ID, err)
	}
	return run.TaskCount{
		Hash: task.Hash(), Count: solutions, Kernel: r.Kernel, Elapsed: time.Duration(r.Seconds * float64(time.Second)),
	}, nil
}
