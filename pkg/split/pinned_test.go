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
// of one splitter version: a run that one build began, another finishes.
//
// When this fails, the tasks have changed. If that is meant, raise split.Version,
// and pin the hashes of the new one here; never pin new hashes to an old version.
func TestTaskSetIsPinned(t *testing.T) {
	const version = 1
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
		{1, queens.Mirror, 2, 1, "32c4e70fb90eaefb96314cbfa377d733aa2735c7c61aab864eb23aec20efdee3"},
		{2, queens.Mirror, 2, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{4, queens.None, 1, 4, "f24cbf8099f862e79c974c598180aca59729c478ac5998913397dd03d1be9c86"},
		{8, queens.None, 2, 42, "b6d24b3c0e0dedb4d1dec487f105d5bc7fd77af1b4f1b96449ed7035cc0a2fab"},
		{8, queens.Mirror, 2, 21, "c316654e259eba48ec7f2d23f5de43abf54a3497768ec533282192862b780f21"},
		{8, queens.Mirror, 8, 46, "82f405e7c0cc94d1bf5751ace2802aef8de829c28af0e6c10081a3ec1015dcd0"},
		{9, queens.Mirror, 3, 117, "5526d27e49850ac7b553afc380c381b5f76104ced6ac43a20d31ffbaba4ec3f8"},
		{16, queens.Mirror, 2, 105, "d78c5fb7037773eec8dcc2a75060c3efd904b712bca9adba5f60c553fc271c8c"},
		{17, queens.Mirror, 2, 120, "ed060c8fa17c8c995fdc624f0588ae25c75e4df010265ca6c30542e42d681a7c"},
		{32, queens.Mirror, 2, 465, "d91b1e0eaf93d8343f58b334184e048035c3df7082a53674f28141db43e832bc"},
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
		for _, s := range []queens.Symmetry{queens.None, queens.Mirror} {
			for depth := 1; depth <= 4; depth++ {
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
