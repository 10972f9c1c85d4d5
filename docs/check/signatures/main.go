// Signatures checks who signed the counts of an export, and how many admitted keys agree on each. It uses
// nothing of this project but docs/ledger.md, from which it was written.
//
//	coordinator ledger RUN | go run ./docs/check/signatures
package main

import (
	"bufio"
	"crypto/ed25519"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

// line is a line of the export, as far as it is needed here.
type line struct {
	Run, Hash, Count string
	Task             uint64
	voter
	Confirmations []voter
}

// voter is who counted a task.
type voter struct {
	Worker, Kernel, Key  string
	ID                   uint64 `json:"statement_id"`
	Signature, Statement []byte
	Unadmitted           bool
}

// check returns how many counts are signed, how many are the coordinator's own, and the least number of
// admitted keys that agree on a line.
func check(export io.Reader) (signed, own, least int, err error) {
	signedCounts := make(map[string]string) // By statement, key and task.
	least = math.MaxInt
	for in := json.NewDecoder(bufio.NewReader(export)); ; {
		var l line
		if err := in.Decode(&l); err == io.EOF {
			return signed, own, least, nil
		} else if err != nil {
			return signed, own, least, err
		}
		voters := make(map[string]bool)
		for _, v := range append([]voter{l.voter}, l.Confirmations...) {
			if len(v.Statement) > 0 {
				key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(v.Key)
				if err != nil || len(key) != 35 || !ed25519.Verify(key[1:33], v.Statement, v.Signature) {
					return signed, own, least, fmt.Errorf("task %d: a signature is wrong", l.Task)
				}
				for task, says := range statement(v.Statement) {
					signedCounts[fmt.Sprint(v.ID, v.Key, task)] = says
				}
			}
			switch says := fmt.Sprint(l.Run, " ", l.Hash, " ", l.Count, " ", v.Worker, " ", v.Kernel); {
			case l.Count == "":
			case v.ID == 0 && (v.Worker == "(coordinator)" || v.Worker == "(check)"):
				own++
			case signedCounts[fmt.Sprint(v.ID, v.Key, l.Task)] == says:
				signed++
				if !v.Unadmitted {
					voters[v.Key] = true
				}
			default:
				return signed, own, least, fmt.Errorf("task %d: nobody has signed: %s", l.Task, says)
			}
		}
		least = min(least, len(voters))
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

func main() {
	signed, own, least, err := check(os.Stdin)
	fmt.Println(signed, "counts are signed,", own, "are the coordinator's own; on each task agree at least", least, "admitted keys")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
