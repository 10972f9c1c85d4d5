package cli

import (
	"math"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// Cores returns how many threads this process can keep busy. It is GOMAXPROCS, but a smaller limit
// of the process's control group counts: Go itself assumes at least two cores. A part of a core
// counts as a whole one.
func Cores() int {
	cores := runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") != "" || runtime.GOOS != "linux" {
		return cores
	}
	groups, _ := os.ReadFile("/proc/self/cgroup") // without the file there are no control groups
	return limited(cores, string(groups), func(file string) string {
		text, _ := os.ReadFile(path.Join("/sys/fs/cgroup", file)) // "" is no limit
		return string(text)
	})
}

// limited returns the number of cores that the control groups leave. The text groups is
// /proc/self/cgroup; read returns a file below /sys/fs/cgroup, or "". A group is limited by itself
// and by those above it. See cgroups(7), and cpu.max and cpu.cfs_quota_us in the kernel's
// documentation.
func limited(cores int, groups string, read func(file string) string) int {
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			limit := ""
			if fields[1] == "" {
				limit = read(path.Join(group, "cpu.max"))
			} else if strings.Contains(","+fields[1]+",", ",cpu,") {
				folder := path.Join(fields[1], group)
				limit = read(path.Join(folder, "cpu.cfs_quota_us")) + " " +
					read(path.Join(folder, "cpu.cfs_period_us"))
			}
			cores = min(cores, coresOf(limit))
			if group == "/" {
				break
			}
		}
	}
	return cores
}

// coresOf returns the number of cores of a limit, rounded up: "50000 100000" is a time on
// processors, in each period of the second number, and so half a core. Another text is no limit.
func coresOf(limit string) int {
	fields := strings.Fields(limit)
	if len(fields) != 2 {
		return math.MaxInt
	}
	quota, err := strconv.ParseUint(fields[0], 10, 32) // "max" and -1 are no limit
	period, failed := strconv.ParseUint(fields[1], 10, 32)
	if err != nil || failed != nil || quota == 0 || period == 0 {
		return math.MaxInt
	}
	return int((quota + period - 1) / period)
}
