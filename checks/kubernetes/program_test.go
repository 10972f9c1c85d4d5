package kubernetes_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"nqueens/pkg/httpserver"
)

// TestRestricted checks that every pod satisfies the restricted profile of Pod Security, which the
// namespace enforces, and what we ask beyond it: files that can't be changed, no token of the API, limits
// of memory, and probes.
func TestRestricted(t *testing.T) {
	o := build(t)
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	refused := func(pod *corev1.PodTemplateSpec) string {
		result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec))
		return result.ForbiddenDetail()
	}
	if refused(&corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "any"}}}}) == "" {
		t.Fatal("the profile admits a pod without a security context")
	}
	if level := o.namespaces[0].Labels["pod-security.kubernetes.io/enforce"]; level != string(api.LevelRestricted) {
		t.Errorf("the namespace enforces the profile %q", level)
	}
	for name, pod := range o.pods() {
		if why := refused(pod); why != "" {
			t.Errorf("%s: %s", name, why)
		}
		if mount := pod.Spec.AutomountServiceAccountToken; mount == nil || *mount {
			t.Errorf("%s has a token of the API", name)
		}
		if len(pod.Spec.Containers) != 1 || len(pod.Spec.InitContainers) > 0 || pod.Spec.TerminationGracePeriodSeconds == nil {
			t.Fatalf("%s has %d containers, and the checks are for one, or does not say how long it may take to stop", name, len(pod.Spec.Containers))
		}
		c := pod.Spec.Containers[0]
		if only := c.SecurityContext.ReadOnlyRootFilesystem; only == nil || !*only {
			t.Errorf("%s can change its files", name)
		}
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s does not say what it needs, or has no limit of memory", name)
		}
		for _, probe := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			switch {
			case probe == nil:
				t.Errorf("%s lacks a probe", name)
			case probe.HTTPGet != nil && !hasPort(pod, probe.HTTPGet.Port):
				t.Errorf("%s has no port %v", name, &probe.HTTPGet.Port)
			}
		}
	}
}

// TestCommands checks that the pods of the program use flags, variables and paths that exist, and that
// the probes ask what the program answers.
func TestCommands(t *testing.T) {
	o := build(t)
	for name, command := range map[string][]string{"coordinator": {"count"}, "worker": {"run"}} {
		pod := o.pods()[name]
		c := pod.Spec.Containers[0]
		help := helpOf(t, name) + helpOf(t, name, command...) // the first has the flags of all commands
		environment := make(map[string]string)
		for _, from := range c.EnvFrom {
			for _, config := range o.configs {
				if config.Name == from.ConfigMapRef.Name {
					for key, value := range config.Data {
						environment[key] = value
					}
				}
			}
		}
		for _, v := range c.Env {
			environment[v.Name] = v.Value
		}
		for key, value := range environment {
			flag, ours := strings.CutPrefix(key, "NQUEENS_")
			if flag = "--" + strings.ReplaceAll(strings.ToLower(flag), "_", "-"); ours && !strings.Contains(help, flag+" ") {
				t.Errorf("%s: %s is set, and %s %q has no flag %s", name, key, name, command, flag)
			}
			if strings.HasPrefix(value, "/") && !mounted(pod, value) {
				t.Errorf("%s: %s=%s is not in a volume", name, key, value)
			}
		}
		if port := ":" + strconv.Itoa(int(c.Ports[0].ContainerPort)); environment["NQUEENS_HTTP"] != port {
			t.Errorf("%s listens on %s, and its port is %s", name, environment["NQUEENS_HTTP"], port)
		}
		if c.LivenessProbe.HTTPGet.Path != httpserver.LivePath || c.StartupProbe.HTTPGet.Path != httpserver.LivePath ||
			c.ReadinessProbe.HTTPGet.Path != httpserver.ReadyPath {
			t.Errorf("%s is probed at other paths than it serves", name)
		}
		if name != "coordinator" {
			continue
		}
		if n, err := strconv.Atoi(environment["N"]); !slices.Equal(c.Args, []string{"count", "--once", "$(N)"}) || err != nil || n < 1 || n > 32 {
			t.Errorf("the coordinator runs %q with N=%q", c.Args, environment["N"])
		}
		if environment["NQUEENS_HTTP_TOKEN_FILE"] == "" {
			t.Error("the coordinator makes the page's token in its pod, where nobody can read it")
		}
		if replicas := strconv.Itoa(int(*o.stateful[0].Spec.Replicas)); environment["NQUEENS_REPLICAS"] != replicas {
			t.Errorf("streams are on %s of %s servers", environment["NQUEENS_REPLICAS"], replicas)
		}
	}
}

// helpOf returns the help of a subcommand.
func helpOf(t *testing.T, program string, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"run", "./" + program}, command, []string{"--help"})...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q --help: %v", program, command, err)
	}
	return string(out)
}

// TestImages checks that the images, users and folders are those of Dockerfile and docker-compose.yml.
func TestImages(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	dockerfile, compose := read("Dockerfile"), read("docker-compose.yml")
	target := regexp.MustCompile(`(?m)^FROM (\S+) AS (\w+)\n(?:(?:[^F\n].*)?\n)*?USER (\d+):(\d+)\n`)
	found := 0
	pods := build(t).pods()
	for _, m := range target.FindAllStringSubmatch(dockerfile, -1) {
		found++
		base, name, user, group := m[1], m[2], m[3], m[4]
		want := "nqueens-" + name + ":latest" // as docker compose build in a folder nqueens names it
		if name == "nats" {
			want = base
		}
		c := pods[name].Spec.Containers[0]
		if c.Image != want || !strings.Contains(compose, "\n  "+name+":\n") {
			t.Errorf("%s has the image %s, want %s, of a service of docker-compose.yml", name, c.Image, want)
		}
		s := pods[name].Spec.SecurityContext
		if strconv.FormatInt(*s.RunAsUser, 10) != user || strconv.FormatInt(*s.RunAsGroup, 10) != group || *s.FSGroup != *s.RunAsGroup {
			t.Errorf("%s runs as %d:%d, and its image as %s:%s", name, *s.RunAsUser, *s.RunAsGroup, user, group)
		}
	}
	if found != len(pods) {
		t.Errorf("Dockerfile has %d images, and there are %d pods", found, len(pods))
	}
}
