package run

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// MaxStatement bounds a statement, in bytes: [ParseStatement] accepts no longer one.
const MaxStatement = 128 << 10

// MaxAdmission bounds the proof that a key was admitted, in bytes.
const MaxAdmission = 64

// Sealed is a chunk result as its worker signed it.
type Sealed struct {
	// Key is the worker's public key, an NKey of a user: U and 55 letters and digits.
	Key string
	// Statement is the signed text: [ChunkResult.Statement].
	Statement []byte
	// Signature is the Ed25519 signature of Statement, 64 bytes.
	Signature []byte
}

// Signer signs with a private key.
type Signer interface {
	// Key returns the public key, an NKey of a user.
	Key() string
	// Sign returns the Ed25519 signature of a text.
	Sign(text []byte) ([]byte, error)
}

// Seal has a result signed as it is now. It makes the worker's name one that can be shown.
func (r *ChunkResult) Seal(signer Signer) error {
	r.Worker = queens.SanitizeName(r.Worker)
	statement := r.Statement()
	signature, err := signer.Sign(statement)
	if err != nil {
		return fmt.Errorf("the result of chunk %016x is not signed: %w", r.Chunk, err)
	}
	r.Sealed = &Sealed{Key: signer.Key(), Statement: statement, Signature: signature}
	return nil
}

// ValidateKey returns an error unless a text from outside has the form of a public key of a user
// (an NKey): U and 55 letters A to Z and digits 2 to 7. It does not check the key's checksum.
func ValidateKey(key string) error {
	ok := len(key) == 56 && key[0] == 'U'
	for _, c := range []byte(key) {
		ok = ok && (c >= 'A' && c <= 'Z' || c >= '2' && c <= '7')
	}
	if !ok {
		return fmt.Errorf("%.80q is no public key of a user, U and 55 letters and digits", key)
	}
	return nil
}

// maxKernels bounds the kernels of one result: a worker has one, and a few variants of it.
const maxKernels = 64

// statementMagic begins every statement.
const statementMagic = "nqueens counts 1\n"

// Statement returns what a worker signs of a result: a list that anybody can read without this
// program. It begins with the line "nqueens counts 1". Then follow, without separators:
//
//	run, worker      texts: a length, and that many bytes
//	manifest         32 bytes, [Manifest.Hash]
//	chunk            8 bytes
//	time             8 bytes, nanoseconds since 1970 UTC
//	kernels          a number, and that many texts
//	first, tasks     numbers: the id of the first task, and how many follow
//	for each task    hash, 8 bytes; count; nanoseconds of the search; index of the kernel
//
// Lengths and numbers are unsigned varints (LEB128); the others are big endian. The kernels stand
// in the order of their first tasks, at most 64 of them.
func (r *ChunkResult) Statement() []byte {
	var kernels []string
	for i := range r.Counts {
		if !slices.Contains(kernels, r.Counts[i].Kernel) {
			kernels = append(kernels, r.Counts[i].Kernel)
		}
	}
	b := make([]byte, 0, 192+24*len(r.Counts))
	b = append(b, statementMagic...)
	b = appendText(appendText(b, r.Run), r.Worker)
	b = append(b, r.Manifest[:]...)
	b = binary.BigEndian.AppendUint64(b, r.Chunk)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Counted.UnixNano()))
	b = binary.AppendUvarint(b, uint64(len(kernels)))
	for _, name := range kernels {
		b = appendText(b, name)
	}
	b = binary.AppendUvarint(b, r.First)
	b = binary.AppendUvarint(b, uint64(len(r.Counts)))
	for i := range r.Counts {
		c := &r.Counts[i]
		b = binary.BigEndian.AppendUint64(b, c.Hash)
		b = binary.AppendUvarint(b, c.Count)
		b = binary.AppendUvarint(b, uint64(c.Elapsed))
		b = binary.AppendUvarint(b, uint64(slices.Index(kernels, c.Kernel)))
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// ParseStatement returns the result that a statement says, which is valid: the only one with that
// statement. It does not check a signature. Validate has accepted the result.
func ParseStatement(statement []byte) (ChunkResult, error) {
	if len(statement) > MaxStatement {
		return ChunkResult{}, fmt.Errorf("the statement of a result has %d bytes, more than %d", len(statement), MaxStatement)
	}
	rest, ok := bytes.CutPrefix(statement, []byte(statementMagic))
	if !ok {
		return ChunkResult{}, errors.New("the statement of a result has another format than this program's")
	}
	p := statementParser{rest: rest}
	r := p.result()
	switch {
	case p.failed:
		return ChunkResult{}, errors.New("the statement of a result is truncated, or has a number that is too large")
	case !bytes.Equal(r.Statement(), statement):
		return ChunkResult{}, errors.New("the statement of a result is not in its canonical form")
	}
	if err := r.Validate(); err != nil {
		return ChunkResult{}, fmt.Errorf("the statement of a result: %w", err)
	}
	return r, nil
}

// statementParser reads a statement. After the first failure it returns zeros.
type statementParser struct {
	rest   []byte
	failed bool
}

func (p *statementParser) result() (r ChunkResult) {
	r.Run, r.Worker = p.text(), p.text()
	copy(r.Manifest[:], p.bytes(len(r.Manifest)))
	r.Chunk = p.fixed()
	r.Counted = time.Unix(0, int64(p.fixed())).UTC()
	kernels := make([]string, p.number(maxKernels))
	for i := range kernels {
		kernels[i] = p.text()
	}
	r.First = p.number(math.MaxUint64)
	const least = 8 + 3 // bytes a task
	tasks := p.number(MaxChunk)
	if p.failed || uint64(len(p.rest)) < tasks*least {
		p.failed = true
		return r
	}
	r.Counts = make([]TaskCount, tasks)
	for i := range r.Counts {
		c := &r.Counts[i]
		c.Hash, c.Count, c.Elapsed = p.fixed(), p.number(math.MaxUint64), time.Duration(p.number(math.MaxInt64))
		if kernel := p.number(math.MaxUint64); kernel < uint64(len(kernels)) {
			c.Kernel = kernels[kernel]
		} else {
			p.failed = true
		}
	}
	p.failed = p.failed || len(p.rest) > 0
	return r
}

// bytes returns the next bytes, or none.
func (p *statementParser) bytes(n int) []byte {
	if p.failed || len(p.rest) < n {
		p.failed = true
		return nil
	}
	next := p.rest[:n]
	p.rest = p.rest[n:]
	return next
}

func (p *statementParser) fixed() uint64 {
	if b := p.bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// number returns the next number, at most limit.
func (p *statementParser) number(limit uint64) uint64 {
	v, n := binary.Uvarint(p.rest)
	if p.failed || n <= 0 || v > limit {
		p.failed = true
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

func (p *statementParser) text() string { return string(p.bytes(int(p.number(queens.MaxNameBytes)))) }
