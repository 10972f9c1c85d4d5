package split_test

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// The task set is a function of the manifest, on every machine and in every build
// of one splitter version, so one build can resume the runs of another.
//
// This test printed the hashes when version 4 was made, whose tasks version 5 has too, on
// linux/amd64; [TestIndexHasTheTasks] shows that a hash is that of the right tasks. If this test
// fails, the tasks have changed. If that is intended, raise split.Version and pin the new version's
// hashes here; never pin new hashes to an old version.
func TestTaskSetIsPinned(t *testing.T) {
	const version = 5
	if split.Version != version {
		t.Fatalf("splitter version %d has no hashes pinned here, only version %d has", split.Version,
			version)
	}
	for _, c := range []struct {
		n     int
		s     queens.Symmetry
		depth int
		tasks uint64
		hash  string
	}{
		{1, queens.Full, 0, 1, "32c4e70fb90eaefb96314cbfa377d733aa2735c7c61aab864eb23aec20efdee3"},
		{1, queens.Mirror, 1, 1, "32c4e70fb90eaefb96314cbfa377d733aa2735c7c61aab864eb23aec20efdee3"},
		{2, queens.Full, 0, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{2, queens.Mirror, 2, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{4, queens.None, 1, 4, "f24cbf8099f862e79c974c598180aca59729c478ac5998913397dd03d1be9c86"},
		{5, queens.Full, 0, 5, "97ca569aec820141fc6a550b9f87b54f753155901240c81e13b89f66cf4e8be2"},
		{8, queens.None, 2, 42, "b6d24b3c0e0dedb4d1dec487f105d5bc7fd77af1b4f1b96449ed7035cc0a2fab"},
		{8, queens.Mirror, 2, 21, "c316654e259eba48ec7f2d23f5de43abf54a3497768ec533282192862b780f21"},
		{8, queens.Mirror, 8, 46, "82f405e7c0cc94d1bf5751ace2802aef8de829c28af0e6c10081a3ec1015dcd0"},
		{8, queens.Full, 0, 13, "8fbd958dcd7a3376b37f94d3e59871287f22f3d2f077e0f67bd5e79635b6f89a"},
		{8, queens.Full, 3, 81, "407c42602c22d992a2d1df6343ebf615434682a74da3ebf8e2e43ab7b56aafd1"},
		{9, queens.Mirror, 3, 117, "5526d27e49850ac7b553afc380c381b5f76104ced6ac43a20d31ffbaba4ec3f8"},
		{13, queens.Full, 0, 25, "40aa04a1a1371a4da809099049449df97999d3c613e74fc95b3f647c6971a973"},
		{16, queens.Mirror, 2, 105, "d78c5fb7037773eec8dcc2a75060c3efd904b712bca9adba5f60c553fc271c8c"},
		{16, queens.Full, 0, 79, "4c1180dbbabd3869607092dea633d36ec6d2a01fb727633630f857c2d565da72"},
		{17, queens.Full, 0, 281, "d7b5db5b26a1adeafdd7f029b8f7df5ce3da43fe168dffc8edfc19d1b6de5301"},
		{18, queens.Full, 0, 287, "34c0b00bc6994365671fb3ac62e258331082b0165270a08e909219c0fb85bb83"},
		{18, queens.Mirror, 0, 260, "1b7cdd20fffad145331bd04a3942e9b1162e0068c34a8da2a52ec42c94b95595"},
		{19, queens.None, 0, 277, "185a2f65980b81b72ab5b8829618793c613895f6672c3f6a796d7a48020e0f2e"},
		{20, queens.Full, 0, 677, "fad98adcd5afe4b0725a0bd4faf41c2dc7c3e4ea8310611042c74c419b12c126"},
		{21, queens.Full, 0, 3858, "4f5ae2ccf9389331930f98a7d2d014a5298a7ea0424caeca663393d3551b2130"},
		{22, queens.Full, 0, 35526, "845e36ae2a18644bc95c4fef2319d784e67d7f636377dad11deb1731633f71f8"},
		{32, queens.Mirror, 2, 465, "d91b1e0eaf93d8343f58b334184e048035c3df7082a53674f28141db43e832bc"},
		{32, queens.Full, 2, 11751, "cd331982fda6f3ac6144b407f41fe5ac3a86727b86779ba7df651a8de160e288"},
	} {
		m := mustPlan(t, c.n, c.s, c.depth)
		if got := hex.EncodeToString(m.Hash[:]); got != c.hash || m.Tasks != c.tasks {
			t.Errorf("n=%d %s, depth %d: %d tasks with hash %s, want %d with %s", c.n, c.s, c.depth, m.Tasks,
				got, c.tasks, c.hash)
		}
	}
}

// Planning again gives the same manifest. Another board, symmetry or depth gives another task set,
// and so another hash.
func TestHashTellsTaskSetsApart(t *testing.T) {
	seen := map[[32]byte]string{}
	for n := 4; n <= 9; n++ {
		for _, s := range symmetries {
			for depth := range 5 {
				if n < 6 && depth == 0 {
					continue // On such small boards, tasks of a good size may be single prefixes too.
				}
				name := fmt.Sprintf("n=%d %s, depth %d", n, s, depth)
				m := mustPlan(t, n, s, depth)
				if other, ok := seen[m.Hash]; ok {
					t.Errorf("%s has the hash of %s", name, other)
				}
				seen[m.Hash] = name
				if again := mustPlan(t, n, s, depth); !reflect.DeepEqual(m, again) {
					t.Errorf("%s is %+v, and %+v the second time", name, m, again)
				}
			}
		}
	}
}
