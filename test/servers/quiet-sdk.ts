// The SDK warns once per process that it will leave Node 20 behind some day: noise in the output of tests.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'
