package slapdtest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
)

// Ranges stands before a server and tells no more than size values of attribute at
// once, as Active Directory does: the first as "attribute;range=0-…", the others to
// those who ask for "attribute;range=n-*". It returns its address.
func Ranges(tb testing.TB, server, attribute string, size int) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer client.Close()
				behind, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				defer behind.Close()
				r := &ranging{attribute: attribute, size: size, from: map[int64]int{}}
				running.Go(func() {
					defer behind.Close()
					_ = forward(client, behind, r.request)
				})
				if err := forward(behind, client, r.response); !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
					tb.Log("the server before the server: ", err)
				}
			})
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return "ldap://" + l.Addr().String()
}

// forward passes messages on, changed, until an error says why no longer.
func forward(from io.Reader, to io.Writer, change func(*ber.Packet) (*ber.Packet, error)) error {
	for {
		packet, err := ber.ReadPacket(from)
		if err != nil {
			return err
		}
		if packet, err = change(packet); err != nil {
			return err
		}
		if _, err := to.Write(packet.Bytes()); err != nil {
			return err
		}
	}
}

// ranging is one connection; from says where the ranges begin that a request asked
// for.
type ranging struct {
	attribute string
	size      int

	mu   sync.Mutex
	from map[int64]int
}

// request asks the server for the whole attribute and remembers which part was
// wanted.
func (r *ranging) request(message *ber.Packet) (*ber.Packet, error) {
	if message.Children[1].Tag != ldap.ApplicationSearchRequest {
		return message, nil
	}
	attributes := message.Children[1].Children[7]
	for i, a := range attributes.Children {
		name, option, _ := strings.Cut(a.Value.(string), ";")
		if bounds, ok := strings.CutPrefix(option, "range="); ok && strings.EqualFold(name, r.attribute) {
			from, err := strconv.Atoi(strings.TrimSuffix(bounds, "-*"))
			if err != nil {
				return nil, err
			}
			r.mu.Lock()
			r.from[message.Children[0].Value.(int64)] = from
			r.mu.Unlock()
			attributes.Children[i] = octets(name)
		}
	}
	return rebuilt(message), nil
}

func (r *ranging) response(message *ber.Packet) (*ber.Packet, error) {
	if message.Children[1].Tag != ldap.ApplicationSearchResultEntry {
		return message, nil
	}
	r.mu.Lock()
	from := r.from[message.Children[0].Value.(int64)]
	r.mu.Unlock()
	list := message.Children[1].Children[1]
	for _, a := range list.Children {
		name, values := a.Children[0].Value.(string), a.Children[1]
		if !strings.EqualFold(name, r.attribute) || from == 0 && len(values.Children) <= r.size {
			continue
		}
		from = min(from, len(values.Children))
		to, last := min(from+r.size, len(values.Children)), ""
		if last = strconv.Itoa(to - 1); to == len(values.Children) {
			last = "*"
		}
		a.Children[0] = octets(fmt.Sprintf("%s;range=%d-%s", name, from, last))
		values.Children = values.Children[from:to]
		if from == 0 { // Active Directory also names the attribute, without values
			empty := ber.NewSequence("")
			empty.AppendChild(octets(name))
			empty.AppendChild(ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSet, nil, ""))
			list.Children = append(list.Children, empty)
		}
	}
	return rebuilt(message), nil
}

func octets(text string) *ber.Packet {
	return ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, text, "")
}

// rebuilt encodes a packet anew after its children changed.
func rebuilt(p *ber.Packet) *ber.Packet {
	if p.TagType != ber.TypeConstructed {
		return p
	}
	fresh := ber.Encode(p.ClassType, ber.TypeConstructed, p.Tag, nil, "")
	for _, child := range p.Children {
		fresh.AppendChild(rebuilt(child))
	}
	return fresh
}
