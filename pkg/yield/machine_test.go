package yield

import (
	"os"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// The use of the CPU by others can be read on this machine, and is a part of all.
func TestReadLoad(t *testing.T) {
	p := &Policy{Above: 0.5}
	if _, err := p.OnThisMachine(); err != nil {
		t.Fatal(err)
	}
	m := machine{policy: p, self: &process.Process{Pid: int32(os.Getpid())}}
	for range 3 {
		r, err := m.read()
		if err != nil || !(r.Others >= 0 && r.Others <= 1) || time.Since(r.At) > time.Minute {
			t.Errorf("the reading is %+v, error %v", r, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
