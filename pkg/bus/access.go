package bus

import (
	"fmt"
	"slices"
	"strings"
)

// Role is what a user of the server may do.
type Role string

// The roles. A coordinator may do everything with the runs of the server; a watcher sees their
// records and progress; a worker takes tasks and reports results.
const (
	Coordinator Role = "coordinator"
	Watcher     Role = "watcher"
	Worker      Role = "worker"
)

// Validate returns an error for an unknown role.
func (r Role) Validate() error {
	switch r {
	case Coordinator, Watcher, Worker:
		return nil
	}
	return fmt.Errorf("%.80q is no role: it is %s, %s or %s", string(r), Coordinator, Watcher, Worker)
}

// Access says who may connect to a server.
type Access struct {
	Users []User
	// TokenHash is the bcrypt hash of the token with which workers connect that have no key of
	// their own on the server; empty for none.
	TokenHash string
	// Certificate and CertificateKey are the files of the server's TLS certificate; empty for a
	// server without TLS.
	Certificate, CertificateKey string
}

// User is a user with an NKey.
type User struct {
	Role Role
	Name string // for people
	Key  string // public
}

// tokenUser is the user name of connections with a token.
const tokenUser = "join"

// inboxPrefix returns the prefix of a user's reply subjects, of which no other user may receive
// anything. All users of a token have one.
func inboxPrefix(key string) string { return "_INBOX_" + key }

// What each role may do. A service is a subject to which its users publish, with or without a reply;
// the others are only received.
var (
	workerServices = []string{
		pullSubject("*"), "$JS.ACK." + tasksStream + ".>", resultSubjects, heartbeatSubjects,
	}
	workerReceives  = []string{announcementSubjects}
	watcherServices = []string{directGet, directGet + ".>"}
	// The server answers a watcher's request that it keeps no streams for watchers, rather than that
	// the bucket does not exist.
	watcherRequests = []string{"$JS.API.STREAM.INFO." + bucketStream}
	watcherReceives = []string{ProgressSubject("*"), announcementSubjects}
)

// ServerConfig returns the configuration of a NATS server that gives each role its rights, in the
// form of a configuration file or a part of one.
//
// Each role has an account. Within one account the server does not check reply subjects: there, a
// worker could have the answer of a request written into the stream of tasks, or a watcher have the
// record of a run sent as a request to delete a stream. A service of another account answers only in
// the account that asked.
func (a *Access) ServerConfig() string {
	var b strings.Builder
	if a.Certificate != "" {
		fmt.Fprintf(&b, "tls {\n  cert_file: %s\n  key_file: %s\n  timeout: 10 # seconds; the default, 2, is little for many workers at once\n}\n", quote(a.Certificate), quote(a.CertificateKey))
	}
	b.WriteString("accounts {\n  NQ {\n    jetstream: enabled\n    users: [\n")
	for _, u := range a.with(Coordinator) {
		fmt.Fprintf(&b, "      { nkey: %s } # %s\n", u.Key, u.Name)
	}
	b.WriteString("    ]\n    exports: [\n")
	exported := make(map[string]bool)
	export := func(kind string, subjects []string) {
		for _, s := range subjects {
			if exported[s] {
				continue
			}
			exported[s] = true
			response := ""
			if s == pullSubject("*") {
				response = ", response_type: stream" // one chunk or many
			}
			fmt.Fprintf(&b, "      { %s: %s%s }\n", kind, quote(s), response)
		}
	}
	export("service", workerServices)
	export("service", watcherServices)
	export("stream", workerReceives)
	export("stream", watcherReceives)
	b.WriteString("    ]\n  }\n")
	a.writeAccount(&b, "WORKERS", Worker, workerServices, nil, workerReceives)
	a.writeAccount(&b, "WATCHERS", Watcher, watcherServices, watcherRequests, watcherReceives)
	b.WriteString("}\n")
	return b.String()
}

// with returns the users with that role.
func (a *Access) with(role Role) (users []User) {
	for _, u := range a.Users {
		if u.Role == role {
			users = append(users, u)
		}
	}
	return users
}

// writeAccount writes the account of a role whose users may do nothing but what is listed.
func (a *Access) writeAccount(b *strings.Builder, name string, role Role, services, requests, receives []string) {
	permissions := func(key string) string {
		return fmt.Sprintf("permissions: { publish: [%s], subscribe: [%s] }", quoteAll(slices.Concat(services, requests)),
			quoteAll(append([]string{inboxPrefix(key) + ".>"}, receives...)))
	}
	fmt.Fprintf(b, "  %s {\n    users: [\n", name)
	for _, u := range a.with(role) {
		fmt.Fprintf(b, "      { nkey: %s, %s } # %s\n", u.Key, permissions(u.Key), u.Name)
	}
	if role == Worker && a.TokenHash != "" {
		fmt.Fprintf(b, "      { user: %s, password: %s, %s }\n", tokenUser, quote(a.TokenHash), permissions(tokenUser))
	}
	b.WriteString("    ]\n    imports: [\n")
	for _, s := range services {
		fmt.Fprintf(b, "      { service: { account: NQ, subject: %s } }\n", quote(s))
	}
	for _, s := range receives {
		fmt.Fprintf(b, "      { stream: { account: NQ, subject: %s } }\n", quote(s))
	}
	b.WriteString("    ]\n  }\n")
}

func quoteAll(texts []string) string {
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = quote(s)
	}
	return strings.Join(quoted, ", ")
}

// quote returns a string of the server's configuration.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
