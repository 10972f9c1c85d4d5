package audit_test

import (
	"bufio"
	"crypto/ed25519"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// line is a line of the export, as far as it is needed here.
type line struct {
	Run, Hash, Count, Worker, Kernel, Key string
	Task, Report                          uint64
	Signature, Statement                  []byte
}

// check returns how many lines are signed, and how many counts are the coordinator's own.
func check(export io.Reader) (signed, own int, err error) {
	reports := make(map[string]string) // By report, key and task.
	for in := json.NewDecoder(bufio.NewReader(export)); ; {
		var l line
		if err := in.Decode(&l); err == io.EOF {
			return signed, own, nil
		} else if err != nil {
			return signed, own, err
		}
		if len(l.Statement) > 0 {
			key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(l.Key)
			if err != nil || len(key) != 35 || !ed25519.Verify(key[1:33], l.Statement, l.Signature) {
				return signed, own, fmt.Errorf("task %d: the signature is wrong", l.Task)
			}
			for task, says := range statement(l.Statement) {
				reports[fmt.Sprint(l.Report, l.Key, task)] = says
			}
		}
		switch says := fmt.Sprint(l.Run, " ", l.Hash, " ", l.Count, " ", l.Worker, " ", l.Kernel); {
		case l.Count == "":
		case l.Report == 0 && (l.Worker == "(coordinator)" || l.Worker == "(check)"):
			own++
		case reports[fmt.Sprint(l.Report, l.Key, l.Task)] == says:
			signed++
		default:
			return signed, own, fmt.Errorf("task %d: nobody has signed: %s", l.Task, says)
		}
	}
}

// statement returns what a statement says of each task. It panics if the statement is too short.
func statement(b []byte) map[uint64]string {
	fixed := func() uint64 { n := binary.BigEndian.Uint64(b); b = b[8:]; return n }
	number := func() uint64 { n, size := binary.Uvarint(b); b = b[size:]; return n }
	text := func() string { n := number(); s := string(b[:n]); b = b[n:]; return s }
	b = []byte(strings.TrimPrefix(string(b), "nqueens counts 1\n"))
	run, worker := text(), text()
	b = b[32:] // the manifest
	fixed()
	fixed() // the chunk, and the time
	kernels := make([]string, number())
	for i := range kernels {
		kernels[i] = text()
	}
	says := make(map[uint64]string)
	first, tasks := number(), number()
	for i := range tasks {
		hash, count := fixed(), number()
		number() // nanoseconds
		says[first+i] = fmt.Sprintf("%s %016x %d %s %s", run, hash, count, worker, kernels[number()])
	}
	return says
}
