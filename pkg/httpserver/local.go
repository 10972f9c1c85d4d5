package httpserver

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// IsLoopback reports whether only this machine reaches a host.
func IsLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// IsForThisMachine reports whether the Host of a request names this machine. If it does not, a page of somebody
// else may have sent the request, from a browser of this machine: its name now leads here (DNS rebinding).
func IsForThisMachine(request *http.Request) bool {
	return IsLoopback((&url.URL{Host: request.Host}).Hostname())
}

// forThisMachine refuses requests whose Host is not this machine.
func forThisMachine(serve http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		if !IsForThisMachine(request) {
			http.Error(w, "on an address of this machine alone, the metrics are answered only as localhost: scrape them by that name", http.StatusForbidden)
			return
		}
		serve.ServeHTTP(w, request)
	}
}
