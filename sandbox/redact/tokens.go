package redact

// shapes are the tokens that are known without their values. Each must be rare
// in ordinary text: a commit's hash, a UUID or an image in base64 is none. A matcher that looks far and then says no must not find its own word
// in what it has looked at, or the time would be the square of the text.
func shapes() []shape {
	alnum := set("a-zA-Z0-9")
	word := set("-a-zA-Z0-9_")
	dotted := set("-a-zA-Z0-9_.")
	value := set("-a-zA-Z0-9._~+/=")
	return []shape{
		// docs.github.com, "About authentication to GitHub", token prefixes.
		{"github-token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, alnum, follow(alnum, 30, 255)},
		{"github-token", []string{"github_pat_"}, alnum, follow(set("a-zA-Z0-9_"), 30, 255)},
		// docs.gitlab.com, "Token overview", prefixes.
		{"gitlab-token", []string{
			"glpat-", "glrt-", "glrtr-", "gldt-", "glcbt-", "glptt-", "glft-", "glsoat-", "gloas-", "glagent-", "glimt-", "glffct-", "glwt-",
		}, alnum, follow(dotted, 20, 512)},
		{"anthropic-key", []string{"sk-ant-"}, word, follow(word, 20, 512)},
		{"openai-key", []string{"sk-proj-", "sk-svcacct-", "sk-admin-"}, word, follow(word, 20, 512)},
		{"openai-key", []string{"sk-"}, word, digitIn(follow(alnum, 32, 255))},
		// docs.aws.amazon.com, IAM identifiers, unique prefixes.
		{"aws-key-id", []string{"AKIA", "ASIA"}, alnum, exactly(set("A-Z0-9"), 16)},
		{"aws-secret", []string{
			"aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SecretAccessKey", "secretAccessKey", "secret_access_key",
		}, alnum, assigned(set("a-zA-Z0-9/+"), 40, 41)},
		{"google-key", []string{"AIza"}, alnum, exactly(word, 35)},
		{"google-token", []string{"ya29."}, alnum, follow(word, 20, 2048)},
		{"google-secret", []string{"GOCSPX-"}, alnum, exactly(word, 28)},
		// api.slack.com/authentication/token-types.
		{"slack-token", []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"}, alnum, follow(dotted, 20, 512)},
		// docs.stripe.com/keys; whsec_ signs web hooks.
		{"stripe-key", []string{"sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"}, alnum, digitIn(follow(alnum, 16, 255))},
		{"npm-token", []string{"npm_"}, alnum, exactly(alnum, 36)},
		// The begin of every macaroon for pypi.org, and test.pypi.org.
		{"pypi-token", []string{"pypi-AgE"}, alnum, follow(word, 32, 1024)},
		{"hugging-face-token", []string{"hf_"}, alnum, digitIn(follow(alnum, 30, 64))},
		{"docker-token", []string{"dckr_pat_"}, alnum, follow(word, 20, 64)},
		{"jwt", []string{"eyJ"}, word, webToken()},
		{"private-key", []string{"-----BEGIN "}, nil, privateKey()},
		{"password", []string{"://"}, nil, userinfo()},
		{"authorization", []string{"uthorization", "UTHORIZATION"}, nil,
			assigned(value, 12, maxToken, "bearer", "basic", "token", "digest", "negotiate", "apikey")},
		{"bearer", []string{"Bearer ", "bearer "}, alnum, digitIn(follow(value, 20, maxToken))},
	}
}
