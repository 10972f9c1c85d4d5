package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"nqueens/pkg/queens"
)

// computer is a machine as people see it. The coordinator's own worker and others that name the
// same machine are on one computer.
type computer struct{ owner, name string }

func computerOf(m queens.Machine) computer { return computer{m.Witness().User, m.Name} }

func (c computer) compare(other computer) int {
	return cmp.Or(cmp.Compare(c.owner, other.owner), cmp.Compare(c.name, other.name))
}

// longestLabel bounds a label without the numbers behind it, in bytes: with them, it stays within
// [queens.MaxNameBytes].
const longestLabel = 100

// labels returns the names for people of the computers that are remembered. A computer has the name
// of its host, or of its machine while its host is not known, after the name of an invited user:
// laptop, alice/laptop. If several have the same one, a number follows: laptop-2.
func (f *fleet) labels() map[computer]string {
	hosts := make(map[computer]string)
	// the coordinator's own worker comes first
	for _, w := range f.sorted(func(*worker) bool { return true }) {
		of := computerOf(w.process.Machine)
		hosts[of] = cmp.Or(hosts[of], w.request.Host)
	}
	labels, taken := make(map[computer]string, len(hosts)), make(map[string]bool, len(hosts))
	for _, of := range slices.SortedFunc(maps.Keys(hosts), computer.compare) {
		host := cmp.Or(hosts[of], of.name)
		if of.owner != "" {
			host = of.owner + "/" + host
		}
		host = host[:min(len(host), longestLabel)]
		label := host
		for number := 2; taken[label]; number++ {
			label = fmt.Sprintf("%s-%d", host, number)
		}
		labels[of], taken[label] = label, true
	}
	return labels
}

// processes returns how many worker processes are remembered on each computer.
func (f *fleet) processes() map[computer]int {
	number := make(map[computer]int)
	for p := range f.workers {
		number[computerOf(p.Machine)]++
	}
	return number
}
