// Ask a NAR server from Node.js, which reads the contract itself; the package of NAR is not needed.
//
//   npm install @grpc/grpc-js @grpc/proto-loader
//   node ask.js PROTO 127.0.0.1:50051 timm:resnet50     (PROTO: the folder proto/ of NAR)

const fs = require("fs");
const path = require("path");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const [proto, target, name] = process.argv.slice(2);
const read = { includeDirs: [proto], keepCase: true, longs: Number, defaults: true, oneofs: true };
const { nar } = grpc.loadPackageDefinition(loader.loadSync("nar/v1/retrieval.proto", read));
// What a server sheds under load is asked again: see docs/server.md.
const retries = fs.readFileSync(path.join(__dirname, "..", "retries.json"), "utf8");
const client = new nar.v1.ArchitectureRetrievalService(
  target, grpc.credentials.createInsecure(), { "grpc.service_config": retries });

const deadline = new Date(Date.now() + 30000);
client.Search({ queries: [{ architecture: name, top_k: 3 }] }, { deadline }, (error, answer) => {
  client.close();
  if (error) throw error;
  const [result] = answer.results;
  if (result.status && result.status.code) {
    console.error(`${name}: ${result.status.message}`);
    process.exit(1);
  }
  if (result._stale_since) console.error("the server cannot read its store: the answer may be old");
  for (const { score, architecture } of result.hits) console.log(`${score.toFixed(3)} ${architecture.name}`);
});
