// Package proxysql looks at ProxySQL: its version and the server version it
// announces to clients. It needs no login: the announced version stands in
// the first packet ProxySQL sends to anybody who connects. The configuration
// file only tells where to connect, because ProxySQL reads settings from it
// once, and from its own database ever after.
package proxysql
