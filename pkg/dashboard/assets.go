package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed web
var files embed.FS

// Pages among the assets.
const (
	indexPage = "/index.html"
	loginPage = "/login.html"
)

// asset is a file of the page.
type asset struct {
	*body
	version string // a hash of its content, in quotes
	policy  string // its content policy, if it has one of its own
}

// mediaTypes are those of the files that are served, by the ends of their names. Others are not.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".webmanifest": "application/manifest+json", ".txt": "text/plain; charset=utf-8",
}

// assets returns the files of the page by their paths.
var assets = sync.OnceValue(func() map[string]*asset {
	all := make(map[string]*asset)
	err := fs.WalkDir(files, "web", func(name string, entry fs.DirEntry, err error) error {
		kind := mediaTypes[path.Ext(name)]
		if err != nil || entry.IsDir() || kind == "" {
			return err
		}
		content, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		all[strings.TrimPrefix(name, "web")] = &asset{body: newBody(kind, content), version: `"` + hex.EncodeToString(sum[:8]) + `"`}
		return nil
	})
	if err != nil || all[indexPage] == nil || all[loginPage] == nil { // they are part of the program
		panic("the page's files are not embedded")
	}
	_, script, _ := strings.Cut(string(all[indexPage].plain), "<script>")
	script, _, _ = strings.Cut(script, "</script>")
	all[indexPage].policy = contentPolicy(script, "'none'")
	all[loginPage].policy = contentPolicy("", "'self'")
	return all
})

// isOpen reports whether a path is that of a file that everybody may have: all but the page itself
// tell nothing of a run, and the form for the token needs some.
func isOpen(name string) bool { return name != indexPage && assets()[name] != nil }

func serveAsset(w http.ResponseWriter, request *http.Request) {
	name := request.URL.Path
	if name == "/" {
		name = indexPage
	}
	a := assets()[name]
	if a == nil {
		refuse(w, http.StatusNotFound, errNoPath)
		return
	}
	a.serve(w, request, http.StatusOK)
}

// serve answers with a file. A browser asks again each time, and gets it only if it has changed.
func (a *asset) serve(w http.ResponseWriter, request *http.Request, status int) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	if a.policy != "" {
		h.Set("Content-Security-Policy", a.policy)
	}
	if status != http.StatusOK {
		w.WriteHeader(status)
		_, _ = w.Write(a.plain) // fails if the client has gone
		return
	}
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", a.version)
	if request.Header.Get("If-None-Match") == a.version {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	a.body.serve(w, request)
}
