package coordinator_test

import (
	"testing"

	"nqueens/pkg/testkit"
)

func TestMain(m *testing.M) {
	testkit.Parallel(16) // they mostly wait for their servers
	m.Run()
}
