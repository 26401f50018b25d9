import { chat } from '../endpoints/chat.ts'
import { completions } from '../endpoints/completions.ts'
import {
  abortRequest,
  continueGeneration,
  flushCache,
  freezeGc,
  pauseGeneration,
  slowDown,
} from '../endpoints/control.ts'
import { generate } from '../endpoints/generate.ts'
import { health, ready } from '../endpoints/health.ts'
import { model, modelInfo, models, serverInfo } from '../endpoints/information.ts'
import { load, loads } from '../endpoints/loads.ts'
import { metrics } from '../endpoints/metrics.ts'
import { detokenize, tokenize } from '../endpoints/tokenize.ts'
import type { Compat } from '../options.ts'
import type { Handler } from './call.ts'
import { empty, json, openAiError } from './reply.ts'

/** A model that generates embeds nothing. */
const embeddings: Handler = () =>
  json(
    openAiError(
      'This model does not appear to be an embedding model by default. Please add `--is-embedding` when launching the server or try another model.',
      'BadRequestError',
      400,
    ),
    400,
  )

/** Endpoints by path, then by method. */
export const routes: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
  '/': { GET: () => json('SGLang is running') },
  '/health': { GET: health },
  '/health_generate': { GET: health },
  '/ping': { GET: () => empty() },
  '/model_info': { GET: modelInfo },
  '/get_model_info': { GET: modelInfo },
  '/server_info': { GET: serverInfo },
  '/get_server_info': { GET: serverInfo },
  '/v1/models': { GET: models },
  '/v1/models/{id}': { GET: model },
  '/v1/loads': { GET: loads },
  '/get_load': { GET: load },
  '/metrics': { GET: metrics },
  '/abort_request': { POST: abortRequest },
  '/flush_cache': { GET: flushCache, POST: flushCache },
  '/pause_generation': { POST: pauseGeneration },
  '/continue_generation': { POST: continueGeneration },
  '/slow_down': { GET: slowDown, POST: slowDown },
  '/freeze_gc': { GET: freezeGc, POST: freezeGc },
  '/v1/embeddings': { POST: embeddings },
  '/generate': { POST: generate, PUT: generate },
  '/v1/chat/completions': { POST: chat },
  '/v1/completions': { POST: completions },
  '/tokenize': { POST: tokenize },
  '/v1/tokenize': { POST: tokenize },
  '/detokenize': { POST: detokenize },
  '/v1/detokenize': { POST: detokenize },
}

/** Endpoints that 0.5.23 has more, and those that it has no longer. */
const newRoutes: typeof routes = { '/ready': { GET: ready } }
const goneRoutes = new Set(['/get_load'])

/** The methods of a path; undefined where there is no such endpoint. */
export function methodsAt(path: string, compat: Compat): Readonly<Record<string, Handler>> | undefined {
  if (compat === '0.5.23') {
    if (goneRoutes.has(path)) return undefined
    if (Object.hasOwn(newRoutes, path)) return newRoutes[path]
  }
  if (Object.hasOwn(routes, path)) return routes[path]
  return path.startsWith('/v1/models/') ? routes['/v1/models/{id}'] : undefined
}
