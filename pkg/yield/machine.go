package yield

import (
	"fmt"
	"os"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
)

// OnThisMachine returns a function that takes a reading of this machine and returns why the worker pauses, see
// [Policy.Pause]. It reads only what the policy needs. The error says what can't be read here. A worker also pauses
// if that can't be read later.
func (p *Policy) OnThisMachine() (pause func() (reason string), err error) {
	m := &machine{policy: p, self: &process.Process{Pid: int32(os.Getpid())}}
	if _, err := m.read(); err != nil {
		return nil, err
	}
	return func() string {
		r, err := m.read()
		if err != nil {
			return err.Error()
		}
		return p.Pause(r)
	}, nil
}

// machine reads this machine for a policy.
type machine struct {
	policy *Policy
	self   *process.Process
	last   cpuTimes
	others float64
}

// cpuTimes are seconds of all cores since some time.
type cpuTimes struct{ used, own, idle float64 }

func (m *machine) read() (r Reading, err error) {
	if m.policy.Above > 0 {
		err = m.readLoad()
	}
	if err == nil && m.policy.Battery {
		r.OnBattery, err = onBattery()
	}
	r.At, r.Others = time.Now(), m.others
	return r, err
}

// readLoad reads what other programs have used since it was called last. What a hypervisor gives other machines is
// not used on this one.
func (m *machine) readLoad() error {
	all, err := cpu.Times(false)
	if err == nil && len(all) == 0 {
		err = os.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("the use of the CPU can't be read: %w", err)
	}
	own, err := m.self.Times()
	if err != nil {
		return fmt.Errorf("the CPU time of this process can't be read: %w", err)
	}
	a := &all[0]
	now := cpuTimes{used: a.User + a.System + a.Nice + a.Irq + a.Softirq, own: own.User + own.System, idle: a.Idle + a.Iowait}
	used, idle := now.used-m.last.used, now.idle-m.last.idle
	if whole := used + idle; whole > 0 { // 0 if it was read a moment ago
		m.others = max(0, used-(now.own-m.last.own)) / whole
		m.last = now
	}
	return nil
}
