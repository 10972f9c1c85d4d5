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
	return limited(cores, controlGroups(), readControl)
}

// Memory returns how many bytes of memory this process can use: those of the machine, or the limit
// of the process's control group, if that is smaller. It returns 0 if they are not known, which is
// so on other systems than Linux.
func Memory() uint64 {
	if runtime.GOOS != "linux" {
		return 0
	}
	text, _ := os.ReadFile("/proc/meminfo") // without the file the memory is not known
	return memory(string(text), controlGroups(), readControl)
}

// memory does what [Memory] does; meminfo is the text of /proc/meminfo: see proc_meminfo(5).
func memory(meminfo, groups string, read func(file string) string) uint64 {
	least := uint64(math.MaxUint64)
	for line := range strings.Lines(meminfo) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "MemTotal:" {
			continue
		}
		if kib, err := strconv.ParseUint(fields[1], 10, 54); err == nil {
			least = min(least, kib<<10)
		}
	}
	eachGroup(groups, "memory", func(folder string, isFirst bool) {
		file := "memory.max"
		if isFirst {
			file = "memory.limit_in_bytes"
		}
		limit, err := strconv.ParseUint(strings.TrimSpace(read(path.Join(folder, file))), 10, 64)
		if err == nil { // "max" is no limit
			least = min(least, limit)
		}
	})
	if least == math.MaxUint64 {
		return 0
	}
	return least
}

// controlGroups returns /proc/self/cgroup. Without the file there are no control groups.
func controlGroups() string {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	return string(groups)
}

// readControl returns a file below /sys/fs/cgroup. Without it there is no limit.
func readControl(file string) string {
	text, _ := os.ReadFile(path.Join("/sys/fs/cgroup", file))
	return string(text)
}

// eachGroup calls visit with the folder of each control group with the named controller: those of
// the process, and those above them, which limit it too. The text groups is /proc/self/cgroup.
// isFirst says that the group is of version 1. See cgroups(7).
func eachGroup(groups, controller string, visit func(folder string, isFirst bool)) {
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		isFirst := fields[1] != ""
		if isFirst && !strings.Contains(","+fields[1]+",", ","+controller+",") {
			continue
		}
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			visit(path.Join(fields[1], group), isFirst)
			if group == "/" {
				break
			}
		}
	}
}

// limited returns the number of cores that the control groups leave; read returns a file below
// /sys/fs/cgroup, or "". See cpu.max and cpu.cfs_quota_us in the kernel's documentation.
func limited(cores int, groups string, read func(file string) string) int {
	eachGroup(groups, "cpu", func(folder string, isFirst bool) {
		limit := ""
		if isFirst {
			limit = read(path.Join(folder, "cpu.cfs_quota_us")) + " " +
				read(path.Join(folder, "cpu.cfs_period_us"))
		} else {
			limit = read(path.Join(folder, "cpu.max"))
		}
		cores = min(cores, coresOf(limit))
	})
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
