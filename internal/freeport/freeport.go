package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
)

const lowest = 10_000

var (
	mu     sync.Mutex
	chosen = map[int]bool{}
)

// Port is a port of 127.0.0.1 at which nothing listens, and that this process has
// not been given before.
func Port() (int, error) {
	mu.Lock()
	defer mu.Unlock()
	for range 1000 { // another process may hold any of them
		port := lowest + rand.IntN(ephemeral()-lowest)
		if chosen[port] {
			continue
		}
		if keep(port) != nil {
			continue
		}
		chosen[port] = true
		return port, nil
	}
	return 0, errors.New("no free port of 127.0.0.1 was found in a thousand attempts: end servers that are not needed, or widen the range below net.ipv4.ip_local_port_range")
}

// Address is "127.0.0.1:" and a Port.
func Address() (string, error) {
	port, err := Port()
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

// ephemeral is where the ports of outgoing connections begin.
func ephemeral() int {
	const usual = 32_768
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return usual
	}
	var first, last int
	if _, err := fmt.Sscan(string(text), &first, &last); err != nil || first < lowest+1000 {
		return usual // there is no room below: as good as any
	}
	return first
}
