package kubernetes_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestVolumes checks that every volume is mounted, that every mount is a volume, and that what volumes
// and environments refer to exists: maps, secrets, their keys, claims.
func TestVolumes(t *testing.T) {
	o := build(t)
	used := make(map[string]bool)
	for name, pod := range o.pods() {
		volumes := make(map[string]bool)
		for _, v := range pod.Spec.Volumes {
			volumes[v.Name] = false
			o.checkVolume(t, name, v, used)
		}
		for _, s := range o.stateful {
			if s.Name == name {
				for _, claim := range s.Spec.VolumeClaimTemplates {
					volumes[claim.Name] = false
				}
			}
		}
		for _, c := range pod.Spec.Containers {
			for _, m := range c.VolumeMounts {
				if _, ok := volumes[m.Name]; !ok {
					t.Errorf("%s mounts the volume %s, which it does not have", name, m.Name)
				}
				volumes[m.Name] = true
			}
			for _, from := range c.EnvFrom {
				if o.keys("config", from.ConfigMapRef.Name) == nil {
					t.Errorf("%s takes its environment from the map %s, which does not exist", name, from.ConfigMapRef.Name)
				}
				used["config "+from.ConfigMapRef.Name] = true
			}
		}
		for v, mounted := range volumes {
			if !mounted {
				t.Errorf("%s does not mount its volume %s", name, v)
			}
		}
	}
	for _, c := range o.configs {
		if !used["config "+c.Name] {
			t.Errorf("nothing uses the map %s", c.Name)
		}
	}
	for _, s := range o.secrets {
		if !used["secret "+s.Name] {
			t.Errorf("nothing uses the secret %s", s.Name)
		}
	}
}

func (o *objects) checkVolume(t *testing.T, pod string, v corev1.Volume, used map[string]bool) {
	t.Helper()
	// Who is not of the group reads nothing, and nobody writes.
	const mode = 0o440
	check := func(kind, name string, items []corev1.KeyToPath) {
		t.Helper()
		keys := o.keys(kind, name)
		if keys == nil {
			t.Errorf("%s mounts the %s %s, which does not exist", pod, kind, name)
		}
		used[kind+" "+name] = true
		for _, item := range items {
			if !slices.Contains(keys, item.Key) {
				t.Errorf("%s mounts %s of the %s %s, which has %q", pod, item.Key, kind, name, keys)
			}
		}
		if len(items) > 0 && len(items) != len(keys) {
			t.Errorf("%s does not mount all of the %s %s, which has %q", pod, kind, name, keys)
		}
	}
	switch {
	case v.Secret != nil:
		check("secret", v.Secret.SecretName, v.Secret.Items)
		if *v.Secret.DefaultMode != mode {
			t.Errorf("%s mounts a secret with the mode %o", pod, *v.Secret.DefaultMode)
		}
	case v.Projected != nil:
		if *v.Projected.DefaultMode != mode {
			t.Errorf("%s mounts a secret with the mode %o", pod, *v.Projected.DefaultMode)
		}
		for _, s := range v.Projected.Sources {
			if s.Secret != nil {
				check("secret", s.Secret.Name, s.Secret.Items)
			} else {
				check("config", s.ConfigMap.Name, s.ConfigMap.Items)
			}
		}
	case v.PersistentVolumeClaim != nil:
		if !slices.ContainsFunc(o.claims, func(c *corev1.PersistentVolumeClaim) bool { return c.Name == v.PersistentVolumeClaim.ClaimName }) {
			t.Errorf("%s mounts the claim %s, which does not exist", pod, v.PersistentVolumeClaim.ClaimName)
		}
	case v.EmptyDir == nil:
		t.Errorf("%s has a volume %s that no check knows", pod, v.Name)
	}
}

// keys returns the keys of a map or a secret, or nil.
func (o *objects) keys(kind, name string) (keys []string) {
	if kind == "config" {
		for _, c := range o.configs {
			if c.Name == name {
				for key := range c.Data {
					keys = append(keys, key)
				}
			}
		}
		return keys
	}
	for _, s := range o.secrets {
		if s.Name == name {
			for key := range s.Data {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// TestSelectors checks that whatever selects pods selects some, and its own only, and that ports exist.
func TestSelectors(t *testing.T) {
	o := build(t)
	only := func(what string, selector *metav1.LabelSelector, want ...string) {
		t.Helper()
		var got []string
		for _, pod := range o.selected(t, selector) {
			got = append(got, pod.Labels["app.kubernetes.io/name"])
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s selects the pods of %q, want %q", what, got, want)
		}
	}
	for name, pod := range o.pods() {
		if pod.Labels["app.kubernetes.io/name"] != name || pod.Labels["app.kubernetes.io/part-of"] != "nqueens" {
			t.Errorf("the pods of %s have the labels %v", name, pod.Labels)
		}
		for _, c := range pod.Spec.TopologySpreadConstraints {
			only("the topology of "+name, c.LabelSelector, name)
		}
	}
	only("the StatefulSet", o.stateful[0].Spec.Selector, "nats")
	only("the Deployment", o.deployments[0].Spec.Selector, "worker")
	only("the PodDisruptionBudget", o.budgets[0].Spec.Selector, "nats")
	if most := o.budgets[0].Spec.MaxUnavailable; *most != intstr.FromInt32(1) {
		t.Errorf("the budget allows %v servers to be unavailable: two of three are a majority", most)
	}
	headless := false
	for _, s := range o.services {
		selector := &metav1.LabelSelector{MatchLabels: s.Spec.Selector}
		only("the service "+s.Name, selector, "nats")
		for _, p := range s.Spec.Ports {
			o.expectPort(t, "the service "+s.Name, selector, p.TargetPort)
		}
		headless = headless || s.Name == o.stateful[0].Spec.ServiceName && s.Spec.ClusterIP == corev1.ClusterIPNone && s.Spec.PublishNotReadyAddresses
	}
	if !headless {
		t.Error("the servers have no service that gives them names before they are ready")
	}
	for _, p := range o.networkPolicies {
		for _, rule := range p.Spec.Ingress {
			for _, port := range rule.Ports {
				o.expectPort(t, "the policy "+p.Name, &p.Spec.PodSelector, *port.Port)
			}
			for _, from := range rule.From {
				if len(o.selected(t, from.PodSelector)) == 0 {
					t.Errorf("the policy %s admits pods that do not exist", p.Name)
				}
			}
		}
		for _, rule := range p.Spec.Egress {
			for _, to := range rule.To {
				only("the policy "+p.Name, to.PodSelector, "nats")
				for _, port := range rule.Ports {
					o.expectPort(t, "the policy "+p.Name, to.PodSelector, *port.Port)
				}
			}
		}
		want := map[string][]string{"nats": {"nats"}, "clients": {"coordinator", "worker"}}[p.Name]
		only("the policy "+p.Name, &p.Spec.PodSelector, want...)
	}
}

// expectPort checks that all selected pods have a port of that name.
func (o *objects) expectPort(t *testing.T, what string, selector *metav1.LabelSelector, port intstr.IntOrString) {
	t.Helper()
	for _, pod := range o.selected(t, selector) {
		if !hasPort(pod, port) {
			t.Errorf("%s names the port %v, and the pods of %v have none", what, &port, pod.Labels)
		}
	}
}

func hasPort(pod *corev1.PodTemplateSpec, port intstr.IntOrString) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.StrVal })
	})
}

// mounted reports whether a path is in a volume, and for a secret that selects its files, one of these.
func mounted(pod *corev1.PodTemplateSpec, file string) bool {
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		rest, inside := strings.CutPrefix(file, m.MountPath)
		if !inside {
			continue
		}
		for _, v := range pod.Spec.Volumes {
			if v.Name == m.Name && v.Secret != nil && len(v.Secret.Items) > 0 {
				return slices.ContainsFunc(v.Secret.Items, func(item corev1.KeyToPath) bool { return "/"+path.Clean(item.Path) == rest })
			}
		}
		return true
	}
	return false
}
