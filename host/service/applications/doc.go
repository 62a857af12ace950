// Package applications keeps the entries of an org's applications
// (spec: hosted-api §7, §8.5): which namespaces they claim, where they are linked
// and with which secret, whether they answer, and which of them is the org root.
//
// It touches account data, and asks an application through the relay for a probe
// alone. Provider secrets are sealed to their entry; they leave it once, when a
// link makes one, and after that only towards the relay.
package applications
