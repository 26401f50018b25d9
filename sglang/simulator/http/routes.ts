import { chat } from '../endpoints/chat.ts'
import { completions } from '../endpoints/completions.ts'
import { generate } from '../endpoints/generate.ts'
import { health } from '../endpoints/health.ts'
import { model, modelInfo, models, serverInfo } from '../endpoints/information.ts'
import { load, loads } from '../endpoints/loads.ts'
import { detokenize, tokenize } from '../endpoints/tokenize.ts'
import type { Handler } from './call.ts'
import { empty, json } from './reply.ts'

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
  '/generate': { POST: generate, PUT: generate },
  '/v1/chat/completions': { POST: chat },
  '/v1/completions': { POST: completions },
  '/tokenize': { POST: tokenize },
  '/v1/tokenize': { POST: tokenize },
  '/detokenize': { POST: detokenize },
  '/v1/detokenize': { POST: detokenize },
}

/** The methods of a path; undefined where there is no such endpoint. */
export function methodsAt(path: string): Readonly<Record<string, Handler>> | undefined {
  if (Object.hasOwn(routes, path)) return routes[path]
  return path.startsWith('/v1/models/') ? routes['/v1/models/{id}'] : undefined
}
