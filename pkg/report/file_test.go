package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The file is there as a whole or not at all, replaces an older one, and a name that can't be written is
// refused before, with nothing left behind.
func TestReportFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "r.html")
	link := filepath.Join(t.TempDir(), "link.html")
	if err := os.Symlink(path, link); err != nil {
		t.Logf("this system makes no links for this user: %v", err)
		link = folder
	}
	none := filepath.Join(folder, "none")
	for _, bad := range []string{
		folder, filepath.Join(none, "r.html"), none + string(filepath.Separator), os.DevNull, filepath.Join(path, "r.html"), link,
	} {
		if err := CheckFile(bad); err == nil {
			t.Errorf("%s can be written", bad)
		}
	}
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckFile(path); err != nil {
		t.Error(err)
	}
	if err := (&Document{}).WriteFile(path); err == nil {
		t.Error("a report of nothing is written")
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "old" {
		t.Errorf("a report that fails leaves %q (%v)", text, err)
	}
	if err := document().WriteFile(path); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.HasSuffix(string(text), "</html>\n") {
		t.Errorf("the file ends with %.40q (%v)", text[max(0, len(text)-40):], err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*")); len(left) != 1 {
		t.Errorf("there are %q", left)
	}
}
