//go:build unix

package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

// servers is a cluster of nats-server processes, each with its store.
type servers struct {
	t     *testing.T
	nodes []*node
	url   string // of all
}

type node struct {
	server
	name, address, store string
	monitor              string   // address of its HTTP server
	flags                []string // of its cluster
}

// startServers starts a cluster of that many servers with further flags, and waits until its leader has all
// others.
func startServers(t *testing.T, n int, flags ...string) *servers {
	t.Helper()
	c := &servers{t: t}
	var urls, routes []string
	for i := range n {
		address, route := testkit.Address(t), "nats://"+testkit.Address(t)
		c.nodes = append(c.nodes, &node{
			name: fmt.Sprintf("node%d", i+1), address: address, store: t.TempDir(), monitor: testkit.Address(t),
			flags: append([]string{"--cluster", route}, flags...),
		})
		urls, routes = append(urls, "nats://"+address), append(routes, route)
	}
	c.url = strings.Join(urls, ",")
	for _, node := range c.nodes {
		_, port, _ := strings.Cut(node.monitor, ":")
		node.flags = append(node.flags, "--name", node.name, "--cluster_name", "nqueens", "--routes", strings.Join(routes, ","), "-m", port)
		c.start(node)
	}
	testkit.Eventually(t, "the leader of the cluster has all others", func() bool {
		return slices.ContainsFunc(c.nodes, func(node *node) bool {
			cluster, _ := node.state(t.Context())
			return cluster.isLedBy(node) && cluster.isCurrent(n-1)
		})
	})
	return c
}

func (c *servers) start(n *node) {
	c.t.Helper()
	n.server = startServerAt(c.t, n.address, n.store, n.flags...)
}

// streamInfo is what the monitoring page of a server tells of a stream.
type streamInfo struct {
	Name      string
	Cluster   clusterInfo
	Consumers []struct{ Cluster clusterInfo } `json:"consumer_detail"`
}

type clusterInfo struct {
	Leader   string
	Replicas []struct{ Current, Offline bool }
}

// isLedBy reports whether that server leads. Only it knows the state of its followers.
func (i *clusterInfo) isLedBy(n *node) bool { return i.Leader == n.name }

// isCurrent reports whether there are that many followers, all with all that the leader has.
func (i *clusterInfo) isCurrent(followers int) bool {
	current := len(i.Replicas) == followers
	for _, r := range i.Replicas {
		current = current && r.Current && !r.Offline
	}
	return current
}

// state returns what a server tells of the cluster and of the streams, if it is there.
func (n *node) state(ctx context.Context) (cluster clusterInfo, streams []streamInfo) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.monitor+"/jsz?streams=1&consumers=1&accounts=1", http.NoBody)
	if err != nil {
		return clusterInfo{}, nil
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return clusterInfo{}, nil
	}
	defer func() { _ = response.Body.Close() }()
	var page struct {
		Meta     clusterInfo `json:"meta_cluster"`
		Accounts []struct {
			Streams []streamInfo `json:"stream_detail"`
		} `json:"account_details"`
	}
	if json.NewDecoder(response.Body).Decode(&page) != nil {
		return clusterInfo{}, nil
	}
	for _, a := range page.Accounts {
		streams = append(streams, a.Streams...)
	}
	return page.Meta, streams
}

// leaders returns the name of the server that leads each of: the cluster, the streams, the run's consumer,
// and the consumer that reads the results; as seen by the servers but the one that is away.
func (c *servers) leaders(away *node) map[string]string {
	found := make(map[string]string)
	for _, n := range c.nodes {
		if n == away {
			continue
		}
		cluster, streams := n.state(c.t.Context())
		if cluster.Leader != "" {
			found["cluster"] = cluster.Leader
		}
		for _, s := range streams {
			if s.Cluster.Leader == "" {
				continue
			}
			found[s.Name] = s.Cluster.Leader
			for _, consumer := range s.Consumers {
				if consumer.Cluster.Leader != "" {
					found["consumer of "+s.Name] = consumer.Cluster.Leader
				}
			}
		}
	}
	return found
}

// ledBy returns what a server leads.
func (c *servers) ledBy(n *node) (led []string) {
	for what, leader := range c.leaders(nil) {
		if leader == n.name {
			led = append(led, what)
		}
	}
	return led
}

// awaitLeaders waits until the cluster and all streams have leaders without a server that is away.
func (c *servers) awaitLeaders(away *node) {
	c.t.Helper()
	testkit.Eventually(c.t, "there are other leaders", func() bool {
		leaders := c.leaders(away)
		for _, what := range []string{"cluster", "NQ_TASKS", "NQ_RESULTS", "KV_nq_runs"} {
			if leaders[what] == "" || leaders[what] == away.name {
				return false
			}
		}
		return true
	})
}

// awaitReplicas waits until the streams, and the consumers of runs, have that many followers, all with all
// that their leaders have.
func (c *servers) awaitReplicas(followers int) {
	c.t.Helper()
	testkit.Eventually(c.t, "all replicas are current", func() bool {
		current := make(map[string]bool)
		for _, n := range c.nodes {
			_, streams := n.state(c.t.Context())
			for _, s := range streams {
				if s.Cluster.isLedBy(n) {
					current[s.Name] = s.Cluster.isCurrent(followers)
				}
				for _, consumer := range s.Consumers {
					if s.Name == "NQ_TASKS" && consumer.Cluster.isLedBy(n) && !consumer.Cluster.isCurrent(followers) {
						return false
					}
				}
			}
		}
		return current["NQ_TASKS"] && current["NQ_RESULTS"] && current["KV_nq_runs"]
	})
}
