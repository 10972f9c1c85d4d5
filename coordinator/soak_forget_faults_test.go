//go:build unix

package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// forgetKind is a kind of fault of servers that forget.
type forgetKind struct {
	name string
	do   func() (struck bool)
}

// forgetFiles are the kinds of files of a store, by a pattern of their paths.
var forgetFiles = map[string]*regexp.Regexp{
	"messages":                   regexp.MustCompile(`/streams/(NQ_|KV_)\w+/msgs/\d+\.blk$`),
	"index of messages":          regexp.MustCompile(`/streams/(NQ_|KV_)\w+/msgs/index\.db$`),
	"meta.inf of a stream":       regexp.MustCompile(`/streams/(NQ_|KV_)\w+/meta\.inf$`),
	"meta.sum of a stream":       regexp.MustCompile(`/streams/(NQ_|KV_)\w+/meta\.sum$`),
	"o.dat of a consumer":        regexp.MustCompile(`/obs/[^/]+/o\.dat$`),
	"meta.inf of a consumer":     regexp.MustCompile(`/obs/[^/]+/meta\.inf$`),
	"meta.sum of a consumer":     regexp.MustCompile(`/obs/[^/]+/meta\.sum$`),
	"raft log":                   regexp.MustCompile(`/_js_/[^/]+/msgs/\d+\.blk$`),
	"raft index":                 regexp.MustCompile(`/_js_/[^/]+/msgs/index\.db$`),
	"raft state":                 regexp.MustCompile(`/_js_/[^/]+/(tav\.idx|peers\.idx)$`),
	"raft snapshot":              regexp.MustCompile(`/_js_/[^/]+/snapshots/`),
	"meta.inf or sum of a group": regexp.MustCompile(`/_js_/[^/]+/meta\.(inf|sum)$`),
}

// allKinds returns the kinds of faults that these servers can have.
func (f *forget) allKinds() []forgetKind {
	kinds := []forgetKind{
		{"killed", f.with(1, func(*forgetNode) {})},
		{"paused", f.pause},
		{"rolled back", f.with(1, f.rollBack)},
		{"wiped", f.with(1, func(n *forgetNode) { f.remove(n.store) })},
	}
	if len(f.nodes) > 1 {
		kinds = append(kinds,
			forgetKind{"two rolled back", f.with(2, f.rollBack)},
			forgetKind{"two wiped", f.with(2, func(n *forgetNode) { f.remove(n.store) })},
			forgetKind{"all rolled back", f.with(len(f.nodes), f.rollBack)},
			forgetKind{"all wiped", f.with(len(f.nodes), func(n *forgetNode) { f.remove(n.store) })},
			forgetKind{"all killed", f.with(len(f.nodes), func(*forgetNode) {})},
			forgetKind{"one paused, one killed", f.pauseAndKill},
			forgetKind{"one rolled back, one wiped", f.rollBackAndWipe},
		)
	}
	for name, pattern := range forgetFiles {
		if len(f.nodes) == 1 && strings.Contains(pattern.String(), "_js_") {
			continue // only a cluster has it
		}
		kinds = append(kinds, forgetKind{"bit flipped: " + name, f.flip(pattern)})
	}
	return kinds
}

// some returns that many of the servers.
func (f *forget) some(n int) (nodes []*forgetNode) {
	for _, i := range f.rng.Perm(len(f.nodes))[:n] {
		nodes = append(nodes, f.nodes[i])
	}
	return nodes
}

// with kills that many servers, changes their stores, and starts them again.
func (f *forget) with(n int, change func(*forgetNode)) func() bool {
	return func() bool {
		nodes := f.some(n)
		for _, node := range nodes {
			node.kill()
		}
		for _, node := range nodes {
			change(node)
		}
		for _, node := range nodes {
			f.start(node)
		}
		return true
	}
}

// rollBack puts the store of a dead server back to its copy.
func (f *forget) rollBack(n *forgetNode) {
	f.t.Helper()
	f.remove(n.store)
	if err := os.CopyFS(n.store, os.DirFS(n.copied)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *forget) rollBackAndWipe() bool {
	rolledBack := false
	return f.with(2, func(n *forgetNode) {
		if rolledBack {
			f.remove(n.store)
			return
		}
		f.rollBack(n)
		rolledBack = true
	})()
}

func (f *forget) pause() bool {
	n := f.some(1)[0]
	_ = n.Cmd.Process.Signal(syscall.SIGSTOP)
	elapse(f.t, time.Duration(1000+f.rng.IntN(14_000))*time.Millisecond)
	_ = n.Cmd.Process.Signal(syscall.SIGCONT)
	return true
}

// pauseAndKill pauses one server and kills another, and ends both faults, in a random order.
func (f *forget) pauseAndKill() bool {
	nodes := f.some(2)
	begin := []func(){
		func() { _ = nodes[0].Cmd.Process.Signal(syscall.SIGSTOP) },
		nodes[1].kill,
	}
	end := []func(){ // a server may be ready only when another one is there
		func() { _ = nodes[0].Cmd.Process.Signal(syscall.SIGCONT) },
		func() { f.start(nodes[1]) },
	}
	for _, steps := range [][]func(){begin, end} {
		f.rng.Shuffle(2, func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	}
	for _, steps := range [][]func(){begin, end} {
		for _, step := range steps {
			step()
			elapse(f.t, time.Duration(f.rng.IntN(5000))*time.Millisecond)
		}
	}
	return true
}

// flip stops a server, flips a bit in one of the files of its store that match, and starts it again.
func (f *forget) flip(pattern *regexp.Regexp) func() bool {
	return func() bool {
		n := f.some(1)[0]
		_ = n.Cmd.Process.Signal(syscall.SIGTERM) // it writes indexes only then
		<-n.Ended()
		defer f.start(n)
		var files []string
		_ = filepath.WalkDir(n.store, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && pattern.MatchString(path) {
				files = append(files, path)
			}
			return nil
		})
		if len(files) == 0 {
			return false
		}
		file := files[f.rng.IntN(len(files))]
		data, err := os.ReadFile(file)
		if err != nil || len(data) == 0 {
			return false
		}
		data[f.rng.IntN(len(data))] ^= 1 << f.rng.IntN(8)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			f.t.Fatal(err)
		}
		return true
	}
}
