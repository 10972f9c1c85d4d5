// Package audit checks a ledger from scratch and computes its total. It relies on nothing
// that the run held in memory: it reads every record again, splits the count again, and
// can count tasks again. It also exports a ledger's tasks.
package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/big"
	"slices"
	"strings"

	"nqueens/pkg/ledger"
	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// Total computes the total of a complete ledger by two routes, which must agree with each
// other and with the known value, unless that is nil. The error wraps
// [run.ErrIncomplete] if something is missing, in dispute or damaged,
// [run.ErrContradiction] if something contradicts, or the cause of ctx's end.
func Total(ctx context.Context, l *ledger.Ledger, known *big.Int) (*big.Int, error) {
	m := l.Header().Manifest
	if err := CheckClasses(&m); err != nil {
		return nil, err
	}
	if err := cmp.Or(CheckQuarantines(l), CheckDisputes(l), CheckRedundancy(l)); err != nil {
		return nil, err
	}
	first, err := byTask(ctx, &m, l)
	if err != nil {
		return nil, err
	}
	second, err := byClass(ctx, &m, l)
	if err != nil {
		return nil, err
	}
	if first.Cmp(second) != 0 {
		return nil, fmt.Errorf("%w: the tasks sum to %d, the classes to %d", run.ErrContradiction, first, second)
	}
	if known != nil && first.Cmp(known) != 0 {
		return nil, fmt.Errorf("%w: counted %d, the published total for n = %d is %d", run.ErrContradiction, first, m.N, known)
	}
	return first, nil
}

// CheckClasses returns an error unless the manifest's classes are those of its symmetry and
// its placed queens. Task hashes verify the tasks of the classes, but the total also depends
// on the classes themselves.
func CheckClasses(m *queens.Manifest) error {
	want, err := symmetry.Classes(m.N, m.Symmetry, m.Placed...)
	if err != nil {
		return fmt.Errorf("the manifest of the run: %w", err)
	}
	same := slices.EqualFunc(want, m.Classes, func(class queens.Class, plan queens.ClassPlan) bool { return class == plan.Class })
	if !same {
		board := fmt.Sprintf("a board of side %d", m.N)
		if len(m.Placed) > 0 {
			board += fmt.Sprintf(" with queens placed on %v", m.Placed)
		}
		return fmt.Errorf("%w: the classes of the run are not those of symmetry %s on %s", run.ErrContradiction, m.Symmetry, board)
	}
	return nil
}

// CheckDisputes returns nil if every dispute of the ledger is settled. Otherwise the error,
// which wraps [run.ErrIncomplete], describes the open ones.
func CheckDisputes(l *ledger.Ledger) error {
	var lines []string
	open := 0
	for _, d := range l.Disputes() {
		if d.Settled {
			continue
		}
		if open++; open <= maxDescribed {
			lines = append(lines, DescribeDispute(&d))
		}
	}
	if open == 0 {
		return nil
	}
	if open > maxDescribed {
		lines = append(lines, fmt.Sprintf("and %d tasks more", open-maxDescribed))
	}
	return fmt.Errorf("%w: no total while results contradict each other: %s", run.ErrIncomplete, strings.Join(lines, "; "))
}

// CheckQuarantines returns nil unless results of a quarantined key still count, because a process was
// killed while it revoked them. Then the error wraps [run.ErrIncomplete].
func CheckQuarantines(l *ledger.Ledger) error {
	if !l.IsRevoking() {
		return nil
	}
	return fmt.Errorf("%w: results of a quarantined key still count, because a process was killed: resume the run, which revokes them", run.ErrIncomplete)
}

// CheckRedundancy returns nil unless tasks lack voters, see [ledger.Ledger.LacksVoters]. Otherwise the
// error, which wraps [run.ErrIncomplete], names the first. It ignores tasks without a count.
func CheckRedundancy(l *ledger.Ledger) error {
	trust := l.Header().Trust
	if trust.Redundancy < 2 {
		return nil
	}
	var first, lacking uint64
	for task := range l.Header().Manifest.Tasks {
		if l.LacksVoters(task) {
			if lacking++; lacking == 1 {
				first = task
			}
		}
	}
	if lacking == 0 {
		return nil
	}
	return fmt.Errorf("%w: fewer than %d admitted keys agree on %d tasks: on task %d, %d",
		run.ErrIncomplete, trust.Redundancy, lacking, first, l.Standing(first).Voters)
}

// maxDescribed bounds the votes that one line of text names, and the disputes.
const maxDescribed = 10

// DescribeDispute returns who counted what in a dispute, as one line of text. Of many votes it
// names the first.
func DescribeDispute(d *run.Dispute) string {
	var votes []string
	for _, v := range d.Votes[:min(len(d.Votes), maxDescribed)] {
		votes = append(votes, fmt.Sprintf("%d by %s (%s, attempt %d)", v.Count, v.Worker, v.Kernel, v.Attempt))
	}
	if more := len(d.Votes) - maxDescribed; more > 0 {
		votes = append(votes, fmt.Sprintf("%d times more", more))
	}
	return fmt.Sprintf("task %d was counted %s", d.Task, strings.Join(votes, " and "))
}

// byTask sums up the ledger's results in order of task, with the class of each. The cores
// share the ids; none takes a task's class from the splitter.
func byTask(ctx context.Context, m *queens.Manifest, l *ledger.Ledger) (*big.Int, error) {
	var sums symmetry.Sums
	err := parallel.InOrder(ctx, ranges(m.Tasks), func(ctx context.Context, ids idRange) (*symmetry.Sums, error) {
		return sumRange(ctx, m, l, ids)
	}, func(some *symmetry.Sums) error {
		sums.AddAll(some)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sums.Total(), nil
}

// sumRange sums up the results of a range of tasks, none of which may be missing.
func sumRange(ctx context.Context, m *queens.Manifest, l *ledger.Ledger, ids idRange) (*symmetry.Sums, error) {
	sums := new(symmetry.Sums)
	expected := ids.first
	missing := func(r run.Result) error {
		return fmt.Errorf("%w: the ledger has task %d in place of task %d", run.ErrIncomplete, r.Task, expected)
	}
	for r, err := range l.Range(ids.first, ids.end) {
		switch {
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case r.Task != expected:
			return nil, missing(r)
		}
		sums.Add(m.Classes[m.ClassOf(r.Task)].Weight, r.Count)
		expected++
	}
	if expected == min(ids.end, m.Tasks) {
		return sums, nil
	}
	for r, err := range l.Range(expected, math.MaxUint64) {
		if err != nil {
			return nil, err
		}
		return nil, missing(r)
	}
	return nil, fmt.Errorf("%w: the ledger ends before task %d of %d", run.ErrIncomplete, expected, m.Tasks)
}

// idRange is the tasks from first on and before end.
type idRange struct{ first, end uint64 }

// rangeTasks is the number of tasks that a core reads at a time.
const rangeTasks = 1 << 13

// ranges divides that many tasks, from task 0 on. The last range is open: what a ledger has
// beyond the run's tasks belongs to it.
func ranges(tasks uint64) iter.Seq[idRange] {
	return func(yield func(idRange) bool) {
		first := uint64(0)
		for ; first+rangeTasks < tasks; first += rangeTasks {
			if !yield(idRange{first, first + rangeTasks}) {
				return
			}
		}
		yield(idRange{first, math.MaxUint64})
	}
}

// byClass splits the count again, class by class, and looks up the result of each task. It
// compares the hash of each result with the task's, and all hashes with the manifest's. The
// cores share the parts of the classes.
func byClass(ctx context.Context, m *queens.Manifest, l *ledger.Ledger) (*big.Int, error) {
	var sums symmetry.Sums
	hash := sha256.New()
	err := split.InOrder(ctx, m, func(ctx context.Context, p *split.Part) (*partSum, error) {
		return sumPart(ctx, l, p, m.Classes[p.Class].Weight)
	}, func(sum *partSum) error {
		hash.Write(sum.hashes)
		sums.AddAll(&sum.Sums)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if [sha256.Size]byte(hash.Sum(nil)) != m.Hash {
		return nil, fmt.Errorf("%w: the tasks do not hash to the manifest's", run.ErrContradiction)
	}
	return sums.Total(), nil
}

// partSum is what the results of a part's tasks add up to, and their hashes in order.
type partSum struct {
	symmetry.Sums
	hashes []byte
}

// lookAhead is how many results of a part are looked up at once.
const lookAhead = 256

// sumPart makes the tasks of a part again, and sums up their results.
func sumPart(ctx context.Context, l *ledger.Ledger, p *split.Part, weight int) (*partSum, error) {
	sum := &partSum{hashes: make([]byte, 0, 8*p.Tasks)}
	buffer := make([]run.Result, 0, min(lookAhead, p.Tasks))
	var results []run.Result // looked up, of the next tasks
	var failed error         // of the result after them
	var hasher queens.Hasher
	for task := range p.All() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if len(results) == 0 && failed == nil {
			results, failed = l.Results(task.ID, buffer)
		}
		switch {
		case len(results) > 0:
		case failed != nil:
			return nil, failed
		default:
			return nil, fmt.Errorf("%w: task %d has no result", run.ErrIncomplete, task.ID)
		}
		r := &results[0]
		if err := checkHash(r, hasher.Hash(&task)); err != nil {
			return nil, err
		}
		sum.hashes = binary.LittleEndian.AppendUint64(sum.hashes, r.Hash)
		sum.Add(weight, r.Count)
		results = results[1:]
	}
	return sum, nil
}

// resultOf returns the accepted result of a task, and whether there is one. The error
// wraps [run.ErrContradiction] if the result has the hash of another task.
func resultOf(l *ledger.Ledger, task *queens.Task) (run.Result, bool, error) {
	r, ok, err := l.Result(task.ID)
	if ok {
		err = checkHash(&r, task.Hash())
	}
	return r, ok, err
}

// checkHash returns an error unless a result has the hash of its task.
func checkHash(r *run.Result, hash uint64) error {
	if r.Hash != hash {
		return fmt.Errorf("%w: the result of task %d by %s is of another task", run.ErrContradiction, r.Task, r.Worker)
	}
	return nil
}
