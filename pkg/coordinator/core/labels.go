package core

import (
	"cmp"
	"fmt"

	"nqueens/pkg/queens"
)

// computer is a machine as people see it. The coordinator's own worker and others that name the
// same machine are on one computer.
type computer struct{ owner, name string }

func computerOf(m queens.Machine) computer { return computer{m.Witness().User, m.Name} }

// computerFacts is what is known of a computer.
type computerFacts struct {
	computer
	host      string // "" until a worker names it
	label     string // for people: see labels
	processes int    // workers that are remembered
	present   int    // workers that are present
}

// longestLabel bounds a label without the numbers behind it, in bytes: with them, it stays within
// [queens.MaxNameBytes].
const longestLabel = 100

// labels gives computers names for people. A computer has the name of its host, or of its machine
// while its host is not known, after the name of an invited user: laptop, alice/laptop. If another
// computer has it already, a number follows: laptop-2.
type labels struct {
	taken map[string]bool
	names map[string]*sameName
}

// sameName is a name without a number.
type sameName struct {
	computers int // that have the name
	last      int // the last number that was given
}

func newLabels() labels { return labels{map[string]bool{}, map[string]*sameName{}} }

// computer returns what is known of the computer of a worker.
func (f *fleet) computer(w *worker) *computerFacts {
	of := computerOf(w.process.Machine)
	on := f.computers[of]
	if on == nil {
		on = &computerFacts{computer: of}
		f.computers[of] = on
		f.labels.give(on)
	}
	return on
}

// nameOf returns the name of a computer without a number.
func (l *labels) nameOf(on *computerFacts) string {
	name := cmp.Or(on.host, on.name)
	if on.owner != "" {
		name = on.owner + "/" + name
	}
	return name[:min(len(name), longestLabel)]
}

// give gives a computer a label.
func (l *labels) give(on *computerFacts) {
	name := l.nameOf(on)
	same := l.names[name]
	if same == nil {
		same = &sameName{last: 1}
		l.names[name] = same
	}
	same.computers++
	for on.label = name; l.taken[on.label]; {
		same.last++
		on.label = fmt.Sprintf("%s-%d", name, same.last)
	}
	l.taken[on.label] = true
}

// change gives a computer a new label, because its host is known now.
func (l *labels) change(on *computerFacts, host string) {
	l.remove(on)
	on.host = host
	l.give(on)
}

// remove takes the label of a computer away.
func (l *labels) remove(on *computerFacts) {
	delete(l.taken, on.label)
	name := l.nameOf(on)
	l.names[name].computers--
	if l.names[name].computers == 0 {
		delete(l.names, name)
	}
}

// labelOf returns the label of a worker. It has the number of the process if its computer has
// several.
func (f *fleet) labelOf(w *worker) string {
	on := f.computer(w)
	if on.processes > 1 {
		return fmt.Sprintf("%s/%d", on.label, w.number)
	}
	return on.label
}
