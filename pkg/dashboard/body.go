package dashboard

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

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
