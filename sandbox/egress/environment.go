package egress

import (
	"net"
	"strings"
)

// noProxy is what stays inside the sandbox.
const noProxy = "localhost,127.0.0.1,::1"

// environment points every tool that can be pointed at a proxy to this one.
// The rest fail closed: there is no other way out.
func environment(address, token string) []string {
	proxy := "http://" + tokenUser + ":" + token + "@" + address
	var env []string
	// curl reads http_proxy in lower case only; most others read both.
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+proxy, strings.ToLower(name)+"="+proxy)
	}
	env = append(env, "NO_PROXY="+noProxy, "no_proxy="+noProxy)
	// npm and yarn put their own configuration before the general variables;
	// yarn 2 and later read nothing else.
	for _, name := range []string{"npm_config_proxy", "npm_config_https_proxy", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY"} {
		env = append(env, name+"="+proxy)
	}
	// fetch of node 22.21, 24 and later asks for this (nodejs.org/api/cli.html).
	env = append(env, "NODE_USE_ENV_PROXY=1")
	return append(env, "JAVA_TOOL_OPTIONS="+javaOptions(address, token))
}

// javaOptions are the properties that the JDK, Maven and Gradle read
// (docs.oracle.com, "Java Networking and Proxies"). The JDK refuses Basic
// towards a proxy for HTTPS unless told otherwise.
func javaOptions(address, token string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	options := []string{"-Djdk.http.auth.tunneling.disabledSchemes=", "-Djdk.http.auth.proxying.disabledSchemes="}
	for _, scheme := range []string{"http", "https"} {
		p := "-D" + scheme + "."
		options = append(options, p+"proxyHost="+host, p+"proxyPort="+port,
			p+"proxyUser="+tokenUser, p+"proxyPassword="+token, p+"nonProxyHosts=localhost|127.*|[::1]")
	}
	return strings.Join(options, " ")
}
