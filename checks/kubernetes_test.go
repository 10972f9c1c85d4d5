package checks

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// decode decodes the objects of a manifest with the types of Kubernetes. An unknown or repeated
// field is an error.
func decode(manifest []byte) (objects []runtime.Object, err error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(
		corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), batchv1.AddToScheme(scheme),
		networkingv1.AddToScheme(scheme),
	); err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(manifest)))
	for text := make([]byte, 1<<20); ; {
		size, err := documents.Read(text)
		if errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		object, _, err := decoder.Decode(bytes.Clone(text[:size]), nil, nil)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}

// manifest returns the objects of deploy/kubernetes.yaml and kubernetes-gpu.yaml. It also returns
// the templates of the pods, by the names of the Deployments and Jobs that make these.
func manifest(t *testing.T) (objects []runtime.Object, pods map[string]*corev1.PodTemplateSpec) {
	t.Helper()
	for _, file := range []string{"kubernetes.yaml", "kubernetes-gpu.yaml"} {
		text, err := os.ReadFile("../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := decode(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		objects = append(objects, decoded...)
	}
	pods = make(map[string]*corev1.PodTemplateSpec)
	for _, object := range objects {
		switch object := object.(type) {
		case *appsv1.Deployment:
			pods[object.Name] = &object.Spec.Template
		case *batchv1.Job:
			pods[object.Name] = &object.Spec.Template
		}
	}
	if len(pods) != 4 {
		t.Fatalf("%d kinds of pods, want nats, coordinator, worker and worker-gpu", len(pods))
	}
	return objects, pods
}

// The decoder refuses fields and values that the API of Kubernetes does not have.
func TestDecodeIsStrict(t *testing.T) {
	for _, text := range []string{
		"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {port: []}}",
		"{apiVersion: v1, kind: Service, metadata: {name: a, name: b}}",
		"{apiVersion: v2, kind: Service, metadata: {name: a}}",
		"{apiVersion: v1, kind: Service, metadata: {name: 1}}",
	} {
		if _, err := decode([]byte(text)); err == nil {
			t.Errorf("accepted: %s", text)
		}
	}
}

// Each selector selects the pods of one name, all ports exist, and all objects are in one
// namespace, which enforces the restricted profile of Pod Security.
func TestReferences(t *testing.T) {
	objects, pods := manifest(t)
	selects := func(selector *metav1.LabelSelector, want string, ports ...intstr.IntOrString) {
		t.Helper()
		s, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		for name, pod := range pods {
			if s.Matches(labels.Set(pod.Labels)) != (name == want) {
				t.Errorf("the selector of %s selects %s: %v", want, name, name != want)
			}
		}
		for _, port := range ports {
			if !hasPort(pods[want], port) {
				t.Errorf("%s has no port %v", want, &port)
			}
		}
	}
	claims := make(map[string]bool)
	for _, object := range objects {
		meta := object.(metav1.ObjectMetaAccessor).GetObjectMeta()
		if meta.GetNamespace() != "nqueens" && meta.GetName() != "nqueens" {
			t.Errorf("%s is in namespace %q", meta.GetName(), meta.GetNamespace())
		}
		switch object := object.(type) {
		case *corev1.Namespace:
			if level := object.Labels["pod-security.kubernetes.io/enforce"]; level !=
				string(api.LevelRestricted) {
				t.Errorf("the namespace enforces the profile %q", level)
			}
		case *appsv1.Deployment:
			selects(object.Spec.Selector, object.Name)
		case *corev1.Service:
			selects(&metav1.LabelSelector{MatchLabels: object.Spec.Selector}, object.Name,
				object.Spec.Ports[0].TargetPort)
		case *networkingv1.NetworkPolicy:
			selects(&object.Spec.PodSelector, object.Name, *object.Spec.Ingress[0].Ports[0].Port)
			from, err := metav1.LabelSelectorAsSelector(object.Spec.Ingress[0].From[0].PodSelector)
			if err != nil {
				t.Fatal(err)
			}
			for name, pod := range pods {
				if from.Matches(labels.Set(pod.Labels)) == (name == "nats") {
					t.Errorf("pods of %s reach the server: %v", name, name == "nats")
				}
			}
		case *corev1.PersistentVolumeClaim:
			claims[object.Name] = true
		}
	}
	volume := pods["coordinator"].Spec.Volumes[0]
	mount := pods["coordinator"].Spec.Containers[0].VolumeMounts[0]
	if !claims[volume.PersistentVolumeClaim.ClaimName] || mount.Name != volume.Name ||
		mount.MountPath != "/data" {
		t.Errorf("the coordinator mounts %s of %+v, the claims are %v", mount.Name, volume, claims)
	}
}

func hasPort(pod *corev1.PodTemplateSpec, port intstr.IntOrString) bool {
	for _, p := range pod.Spec.Containers[0].Ports {
		if p.Name == port.StrVal || p.ContainerPort == port.IntVal {
			return true
		}
	}
	return false
}

// Every pod satisfies the restricted profile, and gets no token of the API. Its container can't
// change its own files, declares the resources that it needs, and has a probe of one of its ports.
func TestRestricted(t *testing.T) {
	_, pods := manifest(t)
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(pod *corev1.PodTemplateSpec) string {
		restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
		result := policy.AggregateCheckResults(
			evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec))
		return result.ForbiddenDetail()
	}
	if refused(&corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "any"}}}}) == "" {
		t.Fatal("the profile admits a pod without a security context")
	}
	for name, pod := range pods {
		if why := refused(pod); why != "" {
			t.Errorf("%s: %s", name, why)
		}
		if mount := pod.Spec.AutomountServiceAccountToken; mount == nil || *mount {
			t.Errorf("%s has a token of the API", name)
		}
		c := pod.Spec.Containers[0]
		if only := c.SecurityContext.ReadOnlyRootFilesystem; only == nil || !*only {
			t.Errorf("%s can change its files", name)
		}
		if r := c.Resources; r.Limits.Memory().IsZero() || r.Requests.Memory().IsZero() ||
			r.Requests.Cpu().IsZero() {
			t.Errorf("%s does not request memory and CPU, or has no limit of memory", name)
		}
		switch {
		case c.LivenessProbe != nil && hasPort(pod, c.LivenessProbe.HTTPGet.Port):
		case c.ReadinessProbe != nil && hasPort(pod, c.ReadinessProbe.TCPSocket.Port):
		default:
			t.Errorf("%s has no probe of one of its ports", name)
		}
	}
}

// A pod for a GPU gets one, and uses it. It can write only to the folder in which drivers keep
// compiled kernels.
func TestGPUPod(t *testing.T) {
	_, pods := manifest(t)
	pod := pods["worker-gpu"].Spec
	c := pod.Containers[0]
	gpus := c.Resources.Limits["nvidia.com/gpu"]
	if gpus.Value() != 1 || !slices.Contains(c.Args, "opencl") {
		t.Errorf("it gets %v GPUs and has the arguments %q", &gpus, c.Args)
	}
	dockerfile, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	mount := c.VolumeMounts[0]
	if pod.Volumes[0].EmptyDir == nil || mount.Name != pod.Volumes[0].Name ||
		!strings.Contains(string(dockerfile), " CUDA_CACHE_PATH="+mount.MountPath+" ") {
		t.Errorf("it mounts %+v, of %+v", mount, pod.Volumes[0])
	}
}

// The example of an autoscaler scales the workers of the manifest. The test does not know KEDA's
// types.
func TestAutoscale(t *testing.T) {
	_, pods := manifest(t)
	text, err := os.ReadFile("../deploy/autoscale.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var scaler struct {
		Metadata metav1.ObjectMeta
		Spec     struct{ ScaleTargetRef struct{ Name string } }
	}
	err = yaml.Unmarshal(text, &scaler)
	if err != nil || scaler.Metadata.Namespace != "nqueens" ||
		pods[scaler.Spec.ScaleTargetRef.Name] == nil {
		t.Errorf("it scales %+v (%v)", scaler, err)
	}
}

// Coordinator and worker have each flag that the manifest gives them, and a flag for each variable
// NQUEENS_* that it sets.
func TestPodsUseFlagsThatExist(t *testing.T) {
	_, pods := manifest(t)
	for name, words := range map[string][]string{
		"coordinator": {"coordinator", "count"}, "worker": {"worker"}, "worker-gpu": {"worker"},
	} {
		program := words[0]
		// The first text has the flags of all commands.
		help := output(t, program, "--help") + output(t, program, append(words[1:], "--help")...)
		c := pods[name].Spec.Containers[0]
		if !strings.HasPrefix(c.Image, "nqueens-"+program) {
			t.Errorf("%s has the image %s", name, c.Image)
		}
		used := c.Args
		for _, v := range c.Env {
			if variable, ours := strings.CutPrefix(v.Name, "NQUEENS_"); ours {
				used = append(used, "--"+strings.ReplaceAll(strings.ToLower(variable), "_", "-"))
			}
		}
		for _, flag := range used {
			if strings.HasPrefix(flag, "--") && !strings.Contains(help, flag+" ") {
				t.Errorf("%s has no flag %s", name, flag)
			}
		}
	}
}
