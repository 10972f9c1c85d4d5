package dashboard

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"nqueens/pkg/httpserver"
)

// guard decides who sees a page.
type guard struct {
	token      [sha256.Size]byte // its hash
	cookie     string            // what a browser shows that has shown the token
	cookieName string            // browsers share cookies among the ports of a host: each token has its own name
	required   bool
	failures   *failures
}

func newGuard(token string) guard {
	mac := hmac.New(sha256.New, []byte(token))
	_, _ = mac.Write([]byte("nqueens page cookie")) // a hash takes everything
	cookie := hex.EncodeToString(mac.Sum(nil))
	name := sha256.Sum256([]byte(cookie))
	return guard{
		token: sha256.Sum256([]byte(token)), cookie: cookie, cookieName: "nqueens_page_" + hex.EncodeToString(name[:4]),
		required: token != "", failures: &failures{last: make(map[netip.Addr]attempts)},
	}
}

var (
	errHost   = errors.New("without a token, this page answers only as localhost: open it by that name")
	errToken  = errors.New("the token of this page is needed: its file is named in the log")
	errSlow   = errors.New("too many wrong tokens: wait a minute")
	errMethod = errors.New("a token is sent by POST")
)

// checkHost returns an error for a page of this machine alone that is asked for by another name.
func (g *guard) checkHost(request *http.Request) error {
	if g.required || httpserver.IsForThisMachine(request) {
		return nil
	}
	return errHost
}

// check returns 200 for a client that may see the page, 401 without the token, or 429 after too many
// wrong ones.
func (g *guard) check(request *http.Request) int {
	if !g.required {
		return http.StatusOK
	}
	for _, cookie := range request.CookiesNamed(g.cookieName) {
		if subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(g.cookie)) == 1 {
			return http.StatusOK
		}
	}
	scheme, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return http.StatusUnauthorized
	}
	return g.try(request, strings.TrimSpace(token))
}

// try compares a token. It compares none of an address from which too many wrong ones came.
func (g *guard) try(request *http.Request, token string) int {
	from := sender(request)
	if !g.failures.mayTry(from) {
		return http.StatusTooManyRequests
	}
	if sum := sha256.Sum256([]byte(token)); subtle.ConstantTimeCompare(sum[:], g.token[:]) != 1 {
		g.failures.add(from)
		return http.StatusUnauthorized
	}
	return http.StatusOK
}

// sender returns the address of a client. That of a client without one is invalid, and the same for
// all of them.
func sender(request *http.Request) netip.Addr {
	address, _ := netip.ParseAddrPort(request.RemoteAddr)
	return address.Addr().Unmap()
}

const (
	loginPath = "/login"
	// maxLogin bounds what a browser sends with a token, in bytes.
	maxLogin = 4 << 10
)

// login takes the token from a form, and sets the cookie.
func (g *guard) login(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, errMethod)
		return
	}
	if !g.required {
		refuse(w, http.StatusNotFound, errNoPath)
		return
	}
	request.Body = http.MaxBytesReader(w, request.Body, maxLogin)
	target := "./"
	switch g.try(request, strings.TrimSpace(request.PostFormValue("token"))) {
	case http.StatusOK:
		http.SetCookie(w, &http.Cookie{
			Name: g.cookieName, Value: g.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		})
	case http.StatusTooManyRequests:
		target = "./?slow"
	default:
		target = "./?refused"
	}
	// Relative, for a proxy that serves the page below another path; http.Redirect would resolve it.
	w.Header().Set("Location", target)
	w.WriteHeader(http.StatusSeeOther)
}

// refuseStranger answers a client that may not see the page: with the form for the token, where a
// page was asked for.
func (p *Page) refuseStranger(w http.ResponseWriter, request *http.Request, status int) {
	if status == http.StatusTooManyRequests {
		refuse(w, status, errSlow)
		return
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	if request.URL.Path != "/" {
		refuse(w, status, errToken)
		return
	}
	assets()[loginPage].serve(w, request, status)
}

// failures limits how often each address may try a token.
type failures struct {
	mu   sync.Mutex
	last map[netip.Addr]attempts
}

// attempts are wrong tokens of an address.
type attempts struct {
	number int
	first  time.Time
}

const (
	// maxFailures is how many wrong tokens an address may show in failureInterval.
	maxFailures     = 10
	failureInterval = time.Minute
	// maxAddresses bounds the addresses that are remembered. The others share their attempts.
	maxAddresses = 1 << 10
)

// mayTry reports whether a token of an address is compared.
func (f *failures) mayTry(from netip.Addr) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.last[f.key(from)]
	return a.number < maxFailures || time.Since(a.first) >= failureInterval
}

// add notes a wrong token of an address.
func (f *failures) add(from netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := f.key(from)
	a := f.last[key]
	if a.number == 0 || time.Since(a.first) >= failureInterval {
		a = attempts{first: time.Now()}
	}
	a.number++
	f.last[key] = a
}

// key returns the key of an address. It forgets those that have waited long enough, if there are too
// many. The caller holds the lock.
func (f *failures) key(from netip.Addr) netip.Addr {
	if _, known := f.last[from]; known || len(f.last) < maxAddresses {
		return from
	}
	for address, a := range f.last {
		if time.Since(a.first) >= failureInterval {
			delete(f.last, address)
		}
	}
	if len(f.last) < maxAddresses {
		return from
	}
	return netip.Addr{}
}
