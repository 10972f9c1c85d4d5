package join

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"nqueens/pkg/durable"
)

// DefaultPort is the usual port of NATS servers.
const DefaultPort = "4222"

// Keys writes the files of a server that is not embedded: nats.conf, its certificate, and a token file for each user. hosts are
// the names or addresses under which clients reach the server, with a port or without. If renew is false, existing passwords
// and an existing certificate stay valid, and the token files get the new addresses. If it is true, all passwords and the
// certificate are made again, and old tokens no longer work. Keys returns the paths of all files that it has written or kept.
func Keys(dir string, hosts []string, renew bool) (paths []string, err error) {
	pair, err := certificate(dir, renew)
	if err != nil {
		return nil, err
	}
	var servers []string
	for _, host := range hosts {
		servers = append(servers, HostPort(host, DefaultPort))
	}
	passwords := make(map[string]string)
	for _, user := range users {
		path := filepath.Join(dir, fileOf(user))
		t, err := loadOrMake(path, user, renew)
		if err != nil {
			return nil, err
		}
		t.Servers, t.Certificate = servers, pair.Certificate[0]
		if err := t.Save(path); err != nil {
			return nil, err
		}
		passwords[user] = t.Password
		paths = append(paths, path)
	}
	conf := filepath.Join(dir, "nats.conf")
	return append(paths, filepath.Join(dir, certificateFile), conf), durable.Write(conf, []byte(config(servers[0], passwords)))
}

// HostPort adds the port to a host that has none.
func HostPort(host, port string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

// fileOf returns the name of the token file of a user.
func fileOf(user string) string {
	if user == Worker {
		return FileName
	}
	return user + ".token"
}

// Permissions returns the permissions of a user, as the configuration of a NATS server has them.
func Permissions(user string) string {
	switch user {
	case Coordinator:
		return `{ publish: ["nq.run", "nq.work.>", "nq.status.*", "_INBOX.>"], ` +
			`subscribe: ["nq.run", "nq.work.>", "nq.status.*", "_INBOX.coordinator.>"] }`
	case Worker:
		return `{ publish: ["nq.work.*.*.*", "nq.status.*"], subscribe: ["nq.run", "_INBOX.worker.>"] }`
	}
	return `{ publish: ["nq.status.*"], subscribe: ["nq.run", "_INBOX.watcher.>"] }`
}

// Authorization returns the part of a server's configuration that accepts these users with their passwords, and gives each user
// its permissions.
func Authorization(passwords map[string]string) string {
	var lines strings.Builder
	for _, user := range users {
		if password, ok := passwords[user]; ok {
			fmt.Fprintf(&lines, "    { user: %s, password: %s, permissions: %s }\n", user, password, Permissions(user))
		}
	}
	return "authorization {\n  users: [\n" + lines.String() + hint + "  ]\n}\n"
}

// hint tells people how to bind the name of a machine to a user.
const hint = `    # This user may only be machine NAME. Its workers get a copy of join.token with its user and password, and
    # run with --machine NAME. If you delete the user "worker" above, nobody can take the name of another machine.
    # { user: NAME, password: SECRET, permissions: {
    #   publish: ["nq.work.*.NAME.*", "nq.status.*"], subscribe: ["nq.run", "_INBOX.NAME.>"] } }
    # To remove a user, delete its line and run: nats-server --signal reload
`

// config returns the configuration of a server with these passwords.
func config(address string, passwords map[string]string) string {
	_, port, _ := net.SplitHostPort(address)
	return fmt.Sprintf(`# A NATS server for nqueens. Start it in this folder: nats-server -c nats.conf
# It stores nothing: any server with this file can take the place of another.
listen: "0.0.0.0:%s"
max_payload: 8MB
tls { cert_file: "%[2]s", key_file: "%[2]s" }
`, port, certificateFile) + Authorization(passwords)
}
