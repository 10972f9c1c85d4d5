// Package kubernetes_test checks the manifests of deploy/k8s as far as that is possible without a cluster: it
// builds them as kubectl apply -k does, with keys of its own, and holds the objects to the types of
// Kubernetes, to the restricted profile of Pod Security, to each other, and to the program.
package kubernetes_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"nqueens/pkg/identity"
	"nqueens/pkg/keyring"
)

// root is the repository.
const root = "../.."

// manifests is the folder of the manifests.
const manifests = root + "/deploy/k8s"

// namespace is where everything is.
const namespace = "nqueens"

// objects are the objects of the manifests by their kind.
type objects struct {
	namespaces      []*corev1.Namespace
	configs         []*corev1.ConfigMap
	secrets         []*corev1.Secret
	claims          []*corev1.PersistentVolumeClaim
	services        []*corev1.Service
	stateful        []*appsv1.StatefulSet
	deployments     []*appsv1.Deployment
	jobs            []*batchv1.Job
	budgets         []*policyv1.PodDisruptionBudget
	networkPolicies []*networkingv1.NetworkPolicy
}

// pods returns the templates of all pods by the names of those that make them.
func (o *objects) pods() map[string]*corev1.PodTemplateSpec {
	found := make(map[string]*corev1.PodTemplateSpec)
	for _, s := range o.stateful {
		found[s.Name] = &s.Spec.Template
	}
	for _, d := range o.deployments {
		found[d.Name] = &d.Spec.Template
	}
	for _, j := range o.jobs {
		found[j.Name] = &j.Spec.Template
	}
	return found
}

// selected returns the pods that a selector selects.
func (o *objects) selected(t *testing.T, selector *metav1.LabelSelector) (found []*corev1.PodTemplateSpec) {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range o.pods() {
		if s.Matches(labels.Set(pod.Labels)) {
			found = append(found, pod)
		}
	}
	return found
}

// build returns the objects that kubectl apply -k deploy/k8s would send, with keys and a token made as
// kustomization.yaml says.
func build(t *testing.T) *objects {
	t.Helper()
	o, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// hosts are those that kustomization.yaml gives coordinator keys init.
var hosts = regexp.MustCompile(`--host (\S+)\n`)

var built = sync.OnceValues(func() (*objects, error) {
	dir, err := os.MkdirTemp("", "k8s")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	copied := filepath.Join(dir, "k8s")
	if err := copyManifests(copied); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(copied, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	host := hosts.FindSubmatch(text)
	if host == nil {
		return nil, errors.New("kustomization.yaml has no command that makes keys")
	}
	_, _, err = keyring.Init(filepath.Join(copied, "keys"), keyring.Options{
		Hosts: strings.Split(string(host[1]), ","), ServerDir: "/etc/nats/server",
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(copied, "keys", "page.token"), identity.NewToken().Text(), 0o600); err != nil {
		return nil, err
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), copied)
	if err != nil {
		return nil, err
	}
	var o objects
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		if err := o.add(text); err != nil {
			return nil, errors.Join(err, errors.New(r.CurId().String()))
		}
	}
	return &o, nil
})

// copyManifests copies the files of deploy/k8s that are not in folders.
func copyManifests(dir string) error {
	entries, err := os.ReadDir(manifests)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(manifests, e.Name()))
		if err = errors.Join(err, os.WriteFile(filepath.Join(dir, e.Name()), text, 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// decoder decodes objects of the API. An unknown field, or one that is there twice, is an error.
var decoder = sync.OnceValues(func() (runtime.Decoder, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), batchv1.AddToScheme(scheme),
		policyv1.AddToScheme(scheme), networkingv1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer(), err
})

func (o *objects) add(text []byte) error {
	decoder, err := decoder()
	if err != nil {
		return err
	}
	object, _, err := decoder.Decode(text, nil, nil)
	if err != nil {
		return err
	}
	switch object := object.(type) {
	case *corev1.Namespace:
		o.namespaces = append(o.namespaces, object)
	case *corev1.ConfigMap:
		o.configs = append(o.configs, object)
	case *corev1.Secret:
		o.secrets = append(o.secrets, object)
	case *corev1.PersistentVolumeClaim:
		o.claims = append(o.claims, object)
	case *corev1.Service:
		o.services = append(o.services, object)
	case *appsv1.StatefulSet:
		o.stateful = append(o.stateful, object)
	case *appsv1.Deployment:
		o.deployments = append(o.deployments, object)
	case *batchv1.Job:
		o.jobs = append(o.jobs, object)
	case *policyv1.PodDisruptionBudget:
		o.budgets = append(o.budgets, object)
	case *networkingv1.NetworkPolicy:
		o.networkPolicies = append(o.networkPolicies, object)
	default:
		return errors.New("no check knows this kind")
	}
	if m, err := metaOf(object); err != nil || m.GetNamespace() != namespace && m.GetName() != namespace {
		return errors.Join(err, errors.New("it is in another namespace"))
	}
	return nil
}

func metaOf(object runtime.Object) (metav1.Object, error) {
	accessor, ok := object.(metav1.ObjectMetaAccessor)
	if !ok {
		return nil, errors.New("it has no name")
	}
	return accessor.GetObjectMeta(), nil
}

// TestStrict checks that the decoder refuses what the API does not have, and that all objects are there.
func TestStrict(t *testing.T) {
	var o objects
	for _, text := range []string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: nqueens}, dat: {}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: nqueens}, data: {a: 1}}",
		"{apiVersion: v2, kind: ConfigMap, metadata: {name: a, namespace: nqueens}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
	} {
		if o.add([]byte(text)) == nil {
			t.Errorf("accepted: %s", text)
		}
	}
	b := build(t)
	got := []int{
		len(b.namespaces), len(b.configs), len(b.secrets), len(b.claims), len(b.services),
		len(b.stateful), len(b.deployments), len(b.jobs), len(b.budgets), len(b.networkPolicies),
	}
	for i, want := range []int{1, 2, 3, 1, 2, 1, 1, 1, 1, 2} {
		if got[i] != want {
			t.Fatalf("the numbers of objects are %d; a new one needs its checks", got)
		}
	}
}

// TestNoKeyInTheRepository checks that git ignores the keys, and that no manifest has one.
func TestNoKeyInTheRepository(t *testing.T) {
	ring := filepath.Join(t.TempDir(), "keys")
	if _, _, err := keyring.Init(ring, keyring.Options{}); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(ring, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(ring, path)
		if err != nil {
			return err
		}
		return exec.CommandContext(t.Context(), "git", "check-ignore", "-q", manifests+"/keys/"+name).Run()
	})
	if err != nil {
		t.Errorf("git does not ignore a key: %v", err)
	}
	files, err := filepath.Glob(manifests + "/*.*")
	if err != nil || len(files) < 7 {
		t.Fatalf("found %q (%v)", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("-----BEGIN")) || bytes.Contains(text, []byte("password")) || regexp.MustCompile(`\bS[A-Z2-7]{50,}`).Match(text) {
			t.Errorf("%s contains a secret", file)
		}
	}
}
