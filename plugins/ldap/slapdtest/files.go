package slapdtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// ServerName is a name that the server's certificate has beside its address, and
// ClientDN whom the client's certificate names.
const (
	ServerName = "directory.test"
	ClientDN   = "cn=reader"
)

// Files are those of the server's authority, in PEM.
type Files struct {
	CA                    string
	ClientCert, ClientKey string
	OtherCA               string // an authority that the server's certificate is not of
	serverCert, serverKey string
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func writeFiles(folder string) (f Files, err error) {
	at := func(name string) string { return filepath.Join(folder, name) }
	f = Files{CA: at("ca.pem"), OtherCA: at("other.pem"), ClientCert: at("client.pem"), ClientKey: at("client.key"),
		serverCert: at("server.pem"), serverKey: at("server.key")}
	ca, err := newAuthority(f.CA)
	if err != nil {
		return f, err
	}
	if _, err := newAuthority(f.OtherCA); err != nil {
		return f, err
	}
	server := &x509.Certificate{Subject: pkix.Name{CommonName: ServerName}, DNSNames: []string{ServerName, "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	if err := ca.issue(server, f.serverCert, f.serverKey); err != nil {
		return f, err
	}
	client := &x509.Certificate{Subject: pkix.Name{CommonName: "reader"}}
	return f, ca.issue(client, f.ClientCert, f.ClientKey)
}

func newAuthority(file string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key}, writePEM(file, "CERTIFICATE", der)
}

func (a *authority) issue(template *x509.Certificate, certFile, keyFile string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return err
	}
	template.NotBefore, template.NotAfter = a.cert.NotBefore, a.cert.NotAfter
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(certFile, "CERTIFICATE", der); err != nil {
		return err
	}
	return writePEM(keyFile, "EC PRIVATE KEY", secret)
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
