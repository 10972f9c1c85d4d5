package dashboard

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
)

// guard decides who sees a page.
type guard struct {
	token      [sha256.Size]byte // its hash
	cookie     string            // what a browser shows that has shown the token
	cookieName string            // browsers share cookies among the ports of a host: each token has its own name
	required   bool
}

func newGuard(token string) guard {
	mac := hmac.New(sha256.New, []byte(token))
	_, _ = mac.Write([]byte("nqueens page cookie")) // a hash takes everything
	cookie := hex.EncodeToString(mac.Sum(nil))
	name := sha256.Sum256([]byte(cookie))
	return guard{
		token: sha256.Sum256([]byte(token)), cookie: cookie, cookieName: "nqueens_page_" + hex.EncodeToString(name[:4]),
		required: token != "",
	}
}

var (
	errHost   = errors.New("without a token, this page answers only as localhost: open it by that name")
	errToken  = errors.New("the token of this page is needed: its file is named in the log")
	errMethod = errors.New("a token is sent by POST")
)

// admits reports whether a client may see the page.
func (g *guard) admits(request *http.Request) bool {
	if !g.required {
		return true
	}
	for _, cookie := range request.CookiesNamed(g.cookieName) {
		if subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(g.cookie)) == 1 {
			return true
		}
	}
	scheme, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && g.isToken(token)
}

// isToken compares a text with the token, which is too long to guess.
func (g *guard) isToken(text string) bool {
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
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
	target := "./?refused"
	if g.isToken(request.PostFormValue("token")) {
		target = "./"
		http.SetCookie(w, &http.Cookie{
			Name: g.cookieName, Value: g.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		})
	}
	// Relative, for a proxy that serves the page below another path; http.Redirect would resolve it.
	w.Header().Set("Location", target)
	w.WriteHeader(http.StatusSeeOther)
}

// refuseStranger answers a client that may not see the page: with the form for the token, where a
// page was asked for.
func refuseStranger(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	if request.URL.Path != "/" {
		refuse(w, http.StatusUnauthorized, errToken)
		return
	}
	assets()[loginPage].serve(w, request, http.StatusUnauthorized)
}
