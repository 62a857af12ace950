// Package account keeps the account data of the hosted service: typed records in
// partition __service, written in commits together with the account log.
//
// Every record of an org carries the org's id as the first part of its key, and
// every read names the org of the request. It judges no access and knows no HTTP.
package account
