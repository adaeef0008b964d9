// Reads {policies: {name: document}, requests: [...]} from standard input and writes one answer for each request.
// First argument: the folder that holds node_modules.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(`${process.argv[2]}/`)
const { runSimulation, runUnsafeSimulation } = require('@cloud-copilot/iam-simulate')

const { policies, requests } = JSON.parse(readFileSync(0, 'utf8'))

const everything = [
  {
    orgIdentifier: 'root',
    policies: [
      {
        name: 'everything',
        policy: { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: '*', Resource: '*' }] },
      },
    ],
  },
]

async function answer(request) {
  const simulation = {
    request: {
      principal: request.principal,
      action: request.action,
      resource: { resource: request.resource, accountId: request.account },
      contextVariables: request.context,
    },
    identityPolicies: request.policies.map((name) => ({ name, policy: policies[name] })),
    resourcePolicy: request.resourcePolicy === null ? undefined : policies[request.resourcePolicy],
    serviceControlPolicies: everything,
    resourceControlPolicies: [],
  }
  if (request.unchecked) {
    return { verdict: runUnsafeSimulation(simulation, {}), statements: [], ignored: [], problem: '' }
  }
  const response = await runSimulation(simulation, {})
  if (response.resultType !== 'single') {
    return { verdict: response.resultType, statements: [], ignored: [], problem: JSON.stringify(response) }
  }
  const { analysis, ignoredContextKeys } = response.result
  const deciding = [analysis.identityAnalysis, analysis.resourceAnalysis].flatMap((each) =>
    [...(each?.allowStatements ?? []), ...(each?.denyStatements ?? [])].map((statement) => statement.explain.identifier),
  )
  return { verdict: response.overallResult, statements: deciding, ignored: ignoredContextKeys ?? [], problem: '' }
}

process.stdout.write(JSON.stringify(await Promise.all(requests.map(answer))))
