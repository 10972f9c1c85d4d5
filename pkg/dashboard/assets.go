package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
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

// body is what is sent of a file or an object.
type body struct {
	kind          string // its media type
	plain, zipped []byte

	second int64 // of an object: when it was made, in seconds of the page
	ends   bool  // of an object: the run has ended
}

// jsonType is the media type of all objects.
const jsonType = "application/json"

// minZipped is the size from which a body is compressed.
const minZipped = 1 << 10

func newBody(kind string, text []byte) *body {
	b := &body{kind: kind, plain: text}
	if len(text) >= minZipped && kind != "image/png" {
		var to bytes.Buffer
		z, _ := gzip.NewWriterLevel(&to, gzip.BestSpeed) // fails for unknown levels
		_, _ = z.Write(text)                             // a Buffer takes everything
		_ = z.Close()
		b.zipped = to.Bytes()
	}
	return b
}

// encode returns the JSON object of a value.
func encode(object any) []byte {
	text, err := json.Marshal(object)
	if err != nil { // the objects have no values without a form in JSON
		panic(err)
	}
	return append(text, '\n')
}

// serve answers with the body, compressed if the client takes that and there is such a form.
func (b *body) serve(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Content-Type", b.kind)
	text := b.plain
	if b.zipped != nil {
		w.Header().Set("Vary", "Accept-Encoding")
		if takesGzip(request) {
			w.Header().Set("Content-Encoding", "gzip")
			text = b.zipped
		}
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // fails if the client has gone
}

// takesGzip reports whether a client takes compressed answers.
func takesGzip(request *http.Request) bool {
	for coding := range strings.SplitSeq(request.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
		if name == "gzip" && strings.TrimRight(weight, ".0") != "q=" {
			return true
		}
	}
	return false
}

// cached returns the object of a path, which is made once in each second of the page. There is no object while
// nothing is known.
func (p *Page) cached(path string, object func(known *knowledge) any) *body {
	p.encoding.Lock()
	defer p.encoding.Unlock()
	second := int64(time.Since(p.begun) / frameInterval)
	if b := p.bodies[path]; b != nil && b.second == second {
		return b
	}
	known := p.now()
	if known.latest == nil {
		return nil
	}
	b := newBody(jsonType, encode(object(&known)))
	b.second, b.ends = second, known.latest.State.Finished()
	p.bodies[path] = b
	return b
}
