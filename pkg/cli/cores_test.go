package cli

import (
	"math"
	"testing"
)

// A limit of a control group, or of one above it, is rounded up to whole cores, and is at least
// one.
func TestLimited(t *testing.T) {
	for _, c := range []struct {
		name, groups string
		files        map[string]string
		want         int
	}{
		{"no group", "", nil, 8},
		{"no limit", "0::/a\n", map[string]string{"/a/cpu.max": "max 100000\n"}, 8},
		{"half a core", "0::/\n", map[string]string{"/cpu.max": "50000 100000\n"}, 1},
		{"one core", "0::/\n", map[string]string{"/cpu.max": "100000 100000\n"}, 1},
		{"a little more", "0::/\n", map[string]string{"/cpu.max": "100001 100000\n"}, 2},
		{"more than there are", "0::/\n", map[string]string{"/cpu.max": "1600000 100000\n"}, 8},
		{"the group above", "0::/a/b\n",
			map[string]string{"/a/cpu.max": "300000 100000", "/a/b/cpu.max": "max 1"}, 3},
		{"version 1", "9:name=systemd:/\n4:cpu,cpuacct:/d\n0::/\n", map[string]string{
			"cpu,cpuacct/d/cpu.cfs_quota_us": "50000\n", "cpu,cpuacct/d/cpu.cfs_period_us": "100000\n",
		}, 1},
		{"version 1, no limit", "4:cpu:/\n",
			map[string]string{"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "1"}, 8},
		{"another controller", "4:cpuset:/\n",
			map[string]string{"cpuset/cpu.cfs_quota_us": "1", "cpuset/cpu.cfs_period_us": "1"}, 8},
	} {
		if got := limited(8, c.groups, func(file string) string { return c.files[file] }); got != c.want {
			t.Errorf("%s: %d cores, want %d", c.name, got, c.want)
		}
	}
}

// The memory is that of the machine, or the limit of a control group or of one above it, if that is
// smaller.
func TestMemory(t *testing.T) {
	const eightGiB, meminfo = 8 << 30, "MemTotal:        8388608 kB\nMemFree:         2097152 kB\n"
	for _, c := range []struct {
		name, meminfo, groups string
		files                 map[string]string
		want                  uint64
	}{
		{"nothing is known", "", "", nil, 0},
		{"no group", meminfo, "", nil, eightGiB},
		{"no limit", meminfo, "0::/a\n", map[string]string{"/a/memory.max": "max\n"}, eightGiB},
		{"a limit", meminfo, "0::/a\n", map[string]string{"/a/memory.max": "4096000\n"}, 4096000},
		{"a limit alone", "", "0::/\n", map[string]string{"/memory.max": "4096000\n"}, 4096000},
		{"more than there is", meminfo, "0::/\n", map[string]string{"/memory.max": "99999999999"},
			eightGiB},
		{"the group above", meminfo, "0::/a/b\n", map[string]string{"/a/memory.max": "5000000",
			"/a/b/memory.max": "6000000"}, 5000000},
		{"version 1", meminfo, "7:memory:/d\n4:cpu:/\n",
			map[string]string{"memory/d/memory.limit_in_bytes": "7000000\n"}, 7000000},
		{"another controller", meminfo, "4:cpu:/\n",
			map[string]string{"cpu/memory.limit_in_bytes": "1"}, eightGiB},
	} {
		got := memory(c.meminfo, c.groups, func(file string) string { return c.files[file] })
		if got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}

// Whatever the files say, there is a core and no endless loop.
func FuzzLimited(f *testing.F) {
	f.Add("0::/a/../..//b\n", "50000 100000")
	f.Add("4:cpu,cpuacct:/\n", "4294967295")
	f.Fuzz(func(t *testing.T, groups, limit string) {
		if got := limited(8, groups, func(string) string { return limit }); got < 1 || got > 8 {
			t.Errorf("%d cores", got)
		}
		if got := coresOf(limit); got < 1 || got > math.MaxInt {
			t.Errorf("%q is %d cores", limit, got)
		}
	})
}
