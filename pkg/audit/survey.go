package audit

import (
	"cmp"
	"maps"
	"slices"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// Survey says for a report what a ledger has besides its total. It reads no file.
func Survey(l *ledger.Ledger) *run.Survey {
	h, figures := l.Header(), l.Figures()
	s := &run.Survey{
		Manifest: h.Manifest, Created: h.Created, State: l.State(),
		Redundancy: h.Trust.Redundancy, SpotCheck: h.Trust.SpotCheck,
		Done: l.Len(), CoreTime: figures.CoreTime(), Rejected: l.Rejected(), Damaged: len(l.Damaged()),
	}
	all := figures.Contributions()
	byKernel := make(map[string]run.Contribution)
	for i := range all {
		of := byKernel[all[i].Kernel]
		of.Kernel = all[i].Kernel
		of.Add(&all[i])
		byKernel[of.Kernel] = of
	}
	var rest []run.Contribution
	s.Kernels, rest = listed(slices.Collect(maps.Values(byKernel)))
	s.OtherKernels = len(rest)
	s.Contributions, rest = listed(all)
	s.OtherWorkers = len(rest)
	for i := range rest {
		s.Others.Add(&rest[i])
	}
	disputes := l.Disputes()
	s.Disputes, s.DisputeCount = disputes[:min(len(disputes), run.MaxSurveyed)], len(disputes)
	quarantined := l.Quarantined()
	s.Quarantined, s.QuarantinedCount = quarantined[:min(len(quarantined), run.MaxSurveyed)], len(quarantined)
	return s
}

// listed returns the contributions with the most core time, as many as a table has room for, and the others.
func listed(all []run.Contribution) (listed, rest []run.Contribution) {
	slices.SortFunc(all, func(a, b run.Contribution) int {
		return cmp.Or(cmp.Compare(b.CoreTime.Duration, a.CoreTime.Duration), cmp.Compare(b.Tasks, a.Tasks),
			cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Kernel, b.Kernel))
	})
	most := min(len(all), run.MaxSurveyed)
	return all[:most:most], all[most:]
}
