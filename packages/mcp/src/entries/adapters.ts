// The public surface for agents: a client's or a host's tools in the shapes of models' APIs. Nothing of those is imported.
export {
  type AiContent,
  type AiOutput,
  type AiTool,
  toAiTools,
  type AnthropicCall,
  type AnthropicImage,
  type AnthropicPart,
  type AnthropicResult,
  type AnthropicTool,
  type AnthropicTools,
  toAnthropicTools,
  type OpenAiCall,
  type OpenAiChatCall,
  type OpenAiChatTool,
  type OpenAiPart,
  type OpenAiTool,
  type OpenAiTools,
  toOpenAiTools,
} from "../adapters/toolset.js";
export type { ToolSource } from "../adapters/toolset.js";
export type { CallOptions } from "./types.js";
