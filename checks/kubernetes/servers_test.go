package kubernetes_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/conf"
	"github.com/nats-io/nats-server/v2/server"
)

// serverFiles writes the files that a server sees in /etc/nats to a folder, and returns the folder. The
// paths in them lead there.
func serverFiles(t *testing.T, o *objects) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), "/etc/nats/", dir+"/")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range o.stateful[0].Spec.Template.Spec.Volumes {
		for _, source := range v.Projected.Sources {
			if source.ConfigMap != nil {
				for _, config := range o.configs {
					if config.Name == source.ConfigMap.Name {
						for name, text := range config.Data {
							write(name, []byte(text))
						}
					}
				}
				continue
			}
			for _, secret := range o.secrets {
				if secret.Name == source.Secret.Name {
					for _, item := range source.Secret.Items {
						write(item.Path, secret.Data[item.Key])
					}
				}
			}
		}
	}
	return dir
}

// TestServerConfig checks that the NATS server accepts its configuration, that it names all servers, that
// the certificate is valid for all their names, and that the settings are those of Docker Compose.
func TestServerConfig(t *testing.T) {
	o := build(t)
	dir := serverFiles(t, o)
	options, err := server.ProcessConfigFile(filepath.Join(dir, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	var names, clients, routes []string
	for i := range *o.stateful[0].Spec.Replicas {
		name := fmt.Sprintf("%s-%d.%s", o.stateful[0].Name, i, o.stateful[0].Spec.ServiceName)
		names = append(names, name)
		clients = append(clients, "tls://"+name+":4222")
	}
	for _, route := range options.Routes {
		routes = append(routes, route.Hostname())
	}
	if !slices.Equal(routes, names) {
		t.Errorf("the routes lead to %q, and the servers are %q", routes, names)
	}
	for _, pod := range []string{"coordinator", "worker"} {
		for _, v := range o.pods()[pod].Spec.Containers[0].Env {
			if v.Name == "NQUEENS_NATS" && v.Value != strings.Join(clients, ",") {
				t.Errorf("%s connects to %s, and the servers are %q", pod, v.Value, clients)
			}
		}
	}
	certificate := readCertificate(t, filepath.Join(dir, "server", "server.crt"))
	for _, name := range append(names, "nats", "localhost") { // of the service, and of kubectl port-forward
		if err := certificate.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}

	// The roles are those that coordinator keys init has made, and nobody else gets in.
	accounts := make(map[string]bool)
	for _, u := range options.Nkeys {
		accounts[u.Account.Name] = true
	}
	if want := []string{"NQ", "WATCHERS", "WORKERS"}; !slices.Equal(slices.Sorted(maps.Keys(accounts)), want) || options.NoAuthUser != "" {
		t.Errorf("keys have the accounts %v, want %q, and without a key one is %q", accounts, want, options.NoAuthUser)
	}
	if options.TLSConfig == nil || options.AllowNonTLS || options.Cluster.TLSConfig == nil {
		t.Error("connections are possible without TLS")
	}

	ours, theirs := settings(t, filepath.Join(dir, "nats.conf")), composeSettings(t, filepath.Join(dir, "server"))
	if !reflect.DeepEqual(ours, theirs) {
		t.Errorf("nats.conf has\n%v\nand with Docker Compose the settings are\n%v", ours, theirs)
	}
}

// settings parses a configuration, without what differs from cluster to cluster: names and routes.
func settings(t *testing.T, file string) map[string]any {
	t.Helper()
	parsed, err := conf.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	delete(parsed, "server_name")
	delete(parsed["cluster"].(map[string]any), "routes")
	return parsed
}

// composeSettings returns the settings of deploy/nats-cluster.conf with these keys.
func composeSettings(t *testing.T, keys string) map[string]any {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "server"), os.DirFS(keys)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nats.conf", "nats-cluster.conf"} {
		text, err := os.ReadFile(filepath.Join(root, "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		// The paths of the keys, as in the other configuration.
		text = []byte(strings.ReplaceAll(string(text), "/etc/nats/", filepath.Dir(keys)+"/"))
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return settings(t, filepath.Join(dir, "nats-cluster.conf"))
}

func readCertificate(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("%s has no certificate", file)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
