// Package dashboard serves the built dashboard below /dashboard/: its index for every
// screen, its assets, and the headers that bind a browser to what the dashboard needs.
// It knows nothing of the API that the dashboard calls, and reads no cookie.
package dashboard
