package join

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
)

// DefaultPort is the usual port of NATS servers.
const DefaultPort = "4222"

// The configuration of a server that is not embedded: serverFile includes usersFile.
const (
	serverFile = "nats.conf"
	usersFile  = "users.conf"
)

// Keys writes the files of a server that is not embedded: nats.conf, users.conf, its certificate,
// and a token file for each user, invited ones included. hosts are the names or addresses under
// which clients reach the server, with a port or without. If renew is false, existing passwords and
// an existing certificate stay valid, and the token files get the new addresses. If it is true, all
// passwords and the certificate are made again: a server that runs takes only the old tokens until
// it is reloaded, and then only the new ones. Keys returns the paths of all files that it has
// written or kept.
func Keys(dir string, hosts []string, renew bool) (paths []string, err error) {
	pair, err := certificate(dir, renew)
	if err != nil {
		return nil, err
	}
	var servers []string
	for _, host := range hosts {
		servers = append(servers, HostPort(host, DefaultPort))
	}
	invitations, err := Invitations(dir)
	if err != nil {
		return nil, err
	}
	users := []string{queens.CoordinatorUser, queens.WorkerUser, queens.WatcherUser}
	for _, i := range invitations {
		if !i.Removed {
			users = append(users, i.User)
		}
	}
	for _, user := range users {
		path := fileOf(dir, user)
		t, err := loadOrMake(path, user, renew)
		if err != nil {
			return nil, err
		}
		t.Servers, t.Certificate = servers, pair.Certificate[0]
		if err := t.Save(path); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	if err := WriteUsers(dir); err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, serverFile)
	paths = append(paths, filepath.Join(dir, certificateFile), filepath.Join(dir, usersFile), conf)
	return paths, durable.Write(conf, []byte(config(servers[0])))
}

// HostPort adds the port to a host that has none.
func HostPort(host, port string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

// IsKeys reports whether a folder has the files that [Keys] writes.
func IsKeys(dir string) bool {
	_, err := Load(fileOf(dir, queens.CoordinatorUser))
	return err == nil
}

// WriteUsers writes users.conf in a folder of [Keys]: the users with a token there, with their
// passwords and permissions. The server takes it at its next start or reload.
func WriteUsers(dir string) error {
	passwords, err := ReadPasswords(dir)
	if err != nil {
		return err
	}
	if len(passwords) == 0 { // a server whose list of users is empty takes everybody
		return fmt.Errorf("%s has no token file: make the files again", dir)
	}
	return durable.Write(filepath.Join(dir, usersFile), []byte(usersHead+passwords.Authorization()))
}

const usersHead = `# The users of this server: a token file is for one of them.
# coordinator keys and coordinator invite write this file.
# After a change, run: nats-server --signal reload
`

// config returns the configuration of a server at an address.
func config(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return fmt.Sprintf(`# A NATS server for nqueens. Start it in this folder: nats-server -c nats.conf
# It stores nothing: any server with the files of this folder can take the place of another.
listen: "0.0.0.0:%s"
max_payload: 8MB
tls { cert_file: "%[2]s", key_file: "%[2]s", timeout: 30 }
include %[3]s
`, port, certificateFile, usersFile)
}
