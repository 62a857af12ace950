// Package oidc signs people in by an OpenID provider: authorization code with PKCE,
// always (spec: hosted-api §3).
//
// It keeps unfinished sign-ins in account data, encrypted, so that any host can
// finish what another began; speaks to the provider; and judges its tokens. It opens
// no session and knows no seat: Finish says who somebody is, the core says whether
// that person may enter. It never follows a redirect, uses a proxy of the
// environment, or puts anything that the provider wrote into an answer.
package oidc
