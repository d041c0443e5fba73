-- Edits a case in Neovim, as a person would, and prints what the language server says, as JSON.
local seconds = 1000
local case = "cassettes/cases/mine.yaml"

local function wait(what, is_there)
  if not vim.wait(60 * seconds, is_there, 50) then
    error("Neovim waited in vain for " .. what)
  end
end

local function ask(method)
  local place = vim.lsp.util.make_position_params(0, "utf-16")
  local answers = vim.lsp.buf_request_sync(0, method, place, 60 * seconds)
  return select(2, next(answers)).result
end

local function edit()
  vim.cmd("edit " .. case)
  local start = vim.lsp.start or vim.lsp.start_client  -- the former since Neovim 0.8
  local client = start({ name = "xs2a-sandbox", cmd = { vim.env.XS2A_SANDBOX, "lsp" }, root_dir = vim.fn.getcwd() })
  vim.lsp.buf_attach_client(0, client)

  wait("a problem", function() return #vim.diagnostic.get(0) > 0 end)
  local problem = vim.diagnostic.get(0)[1]
  vim.fn.cursor(5, 26)
  local description = ask("textDocument/hover").contents.value
  local definition = ask("textDocument/definition").uri

  vim.cmd("%substitute/produkt/product/")
  vim.cmd("write")
  wait("a case without problems", function() return #vim.diagnostic.get(0) == 0 end)

  io.stdout:write(vim.fn.json_encode({
    line = problem.lnum,
    column = problem.col,
    message = problem.message,
    description = description,
    definition = definition,
  }))
end

local worked, mistake = xpcall(edit, debug.traceback)
if not worked then
  io.stderr:write(mistake .. "\n")
end
vim.cmd(worked and "qall!" or "cquit")
