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
// This test printed the hashes when version 3 was made, on linux/amd64;
// [TestTasksAreTheManifests] ties a hash to the tasks. If this test fails, the tasks have
// changed. If that is intended, raise split.Version and pin the new version's hashes here;
// never pin new hashes to an old version.
func TestTaskSetIsPinned(t *testing.T) {
	const version = 3
	if split.Version != version {
		t.Fatalf("splitter version %d has no hashes pinned here, only version %d has", split.Version, version)
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
		{5, queens.Full, 0, 7, "9de94cb45b69608f6a473d14ca34ba00f48a59edb0100c612c981c18d2e1ed40"},
		{8, queens.None, 2, 42, "b6d24b3c0e0dedb4d1dec487f105d5bc7fd77af1b4f1b96449ed7035cc0a2fab"},
		{8, queens.Mirror, 2, 21, "c316654e259eba48ec7f2d23f5de43abf54a3497768ec533282192862b780f21"},
		{8, queens.Mirror, 8, 46, "82f405e7c0cc94d1bf5751ace2802aef8de829c28af0e6c10081a3ec1015dcd0"},
		{8, queens.Full, 0, 23, "f0a6b6e8e537022c67c37f9776c42b4e1301bd33a100397bc87ed20802954c4e"},
		{8, queens.Full, 3, 107, "09188cf8dcec30ae64c92f4336f037d35504decb4e832be627e55ca45ac3ddfa"},
		{9, queens.Mirror, 3, 117, "5526d27e49850ac7b553afc380c381b5f76104ced6ac43a20d31ffbaba4ec3f8"},
		{13, queens.Full, 0, 41, "507a9761136d126d7a0ec20d587683982266bfb5612e950ac746feef6b7b06b6"},
		{16, queens.Mirror, 2, 105, "d78c5fb7037773eec8dcc2a75060c3efd904b712bca9adba5f60c553fc271c8c"},
		{16, queens.Full, 0, 104, "07601ccb47171544dd91cfcfc16b2cc4520a3d0fba64b862ca71319fb380e308"},
		{17, queens.Full, 0, 295, "70e483d3c20e218d4efcf3acad841659885ea3c7f6b99bfc6e77238ae878fa33"},
		{18, queens.Full, 0, 300, "4ac20b1d31881b26059936b7ba65517186befd075e6c13ddfe21d52489f007a7"},
		{18, queens.Mirror, 0, 260, "1b7cdd20fffad145331bd04a3942e9b1162e0068c34a8da2a52ec42c94b95595"},
		{19, queens.None, 0, 277, "185a2f65980b81b72ab5b8829618793c613895f6672c3f6a796d7a48020e0f2e"},
		{20, queens.Full, 0, 748, "5e500bddc437f526aa299f5db2fd89ee896b2af0123fde2302d8ef18992b9ca3"},
		{21, queens.Full, 0, 4759, "39cbb627f08ff6999075f484b19e573a1a7e6b5f9f0687e058c971fe9aeff30b"},
		{22, queens.Full, 0, 36219, "afa4e882b68e717c707c41606ef3e6563239e224958889319d5954ee56de9b0e"},
		{32, queens.Mirror, 2, 465, "d91b1e0eaf93d8343f58b334184e048035c3df7082a53674f28141db43e832bc"},
		{32, queens.Full, 2, 3088, "cca9adb5118134268a6def9d9343e54bc1c2a601361d84318a09185de7f1ee7d"},
	} {
		m := mustPlan(t, c.n, c.s, c.depth)
		if got := hex.EncodeToString(m.Hash[:]); got != c.hash || m.Tasks != c.tasks {
			t.Errorf("n=%d %s, depth %d: %d tasks with hash %s, want %d with %s", c.n, c.s, c.depth, m.Tasks, got, c.tasks, c.hash)
		}
	}
}

// The same plan twice is the same manifest; another board, symmetry or depth has
// another task set, and so another hash.
func TestHashTellsTaskSetsApart(t *testing.T) {
	seen := map[[32]byte]string{}
	for n := 4; n <= 9; n++ {
		for _, s := range symmetries {
			for depth := range 5 {
				if n == 4 && depth == 0 {
					continue // Tasks of a good size are one prefix each here.
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
