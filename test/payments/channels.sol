// SPDX-License-Identifier: MIT
// Channels of the scheme `batch-settlement`, and what brings deposits to them. The real ones stand at the same addresses on public
// chains; these have their interface and their rules.
pragma solidity ^0.8.20;

interface Token {
    function transfer(address to, uint256 value) external returns (bool);
    function receiveWithAuthorization(
        address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce,
        bytes calldata signature
    ) external;
}

interface Collector {
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data) external;
}

contract Channels {
    struct ChannelConfig {
        address payer;
        address payerAuthorizer;
        address receiver;
        address receiverAuthorizer;
        address token;
        uint40 withdrawDelay;
        bytes32 salt;
    }

    struct Sums {
        uint128 balance;
        uint128 totalClaimed;
    }

    struct Withdrawal {
        uint128 amount;
        uint40 initiatedAt;
    }

    struct Received {
        uint128 totalClaimed;
        uint128 totalSettled;
    }

    struct Voucher {
        ChannelConfig channel;
        uint128 maxClaimableAmount;
    }

    struct Claim {
        Voucher voucher;
        bytes signature;
        uint128 totalClaimed;
    }

    bytes32 private constant DOMAIN =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant CONFIG = keccak256(
        "ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)"
    );
    bytes32 private constant VOUCHER = keccak256("Voucher(bytes32 channelId,uint128 maxClaimableAmount)");
    bytes32 private constant ENTRY =
        keccak256("ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)");
    bytes32 private constant BATCH = keccak256(
        "ClaimBatch(ClaimEntry[] claims)ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)"
    );
    uint256 private constant HALF = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    mapping(bytes32 => Sums) public channels;
    mapping(bytes32 => uint256) public refundNonce;
    mapping(bytes32 => Withdrawal) public pendingWithdrawals;
    mapping(address => mapping(address => Received)) public receivers;

    event WithdrawInitiated(bytes32 indexed channelId, uint128 amount, uint40 finalizeAfter);
    event Claimed(bytes32 indexed channelId, address indexed sender, uint128 claimAmount, uint128 newTotalClaimed);
    event Settled(address indexed receiver, address indexed token, address indexed sender, uint128 amount);

    function deposit(ChannelConfig calldata config, uint128 amount, address collector, bytes calldata data) external {
        require(config.withdrawDelay >= 15 minutes && config.withdrawDelay <= 30 days, "WithdrawDelayOutOfRange");
        require(amount > 0, "ZeroDeposit");
        bytes32 id = getChannelId(config);
        channels[id].balance += amount;
        Collector(collector).collect(config.payer, config.token, amount, id, data);
    }

    function claimWithSignature(Claim[] calldata claims, bytes calldata signature) external {
        require(claims.length > 0, "EmptyBatch");
        address authorizer = claims[0].voucher.channel.receiverAuthorizer;
        bytes32[] memory entries = new bytes32[](claims.length);
        for (uint256 i = 0; i < claims.length; ++i) {
            Claim calldata it = claims[i];
            bytes32 id = getChannelId(it.voucher.channel);
            require(it.voucher.channel.receiverAuthorizer == authorizer, "NotReceiverAuthorizer");
            entries[i] = keccak256(abi.encode(ENTRY, id, it.voucher.maxClaimableAmount, it.totalClaimed));
            take(id, it);
        }
        bytes32 batch = typed(keccak256(abi.encode(BATCH, keccak256(abi.encodePacked(entries)))));
        require(signer(batch, signature) == authorizer, "InvalidSignature");
    }

    function take(bytes32 id, Claim calldata it) private {
        Sums storage sums = channels[id];
        if (it.totalClaimed <= sums.totalClaimed) return;
        require(it.totalClaimed <= it.voucher.maxClaimableAmount, "ClaimExceedsCeiling");
        require(it.totalClaimed <= sums.balance, "ClaimExceedsBalance");
        bytes32 digest = typed(keccak256(abi.encode(VOUCHER, id, it.voucher.maxClaimableAmount)));
        require(signer(digest, it.signature) == it.voucher.channel.payerAuthorizer, "InvalidSignature");
        uint128 more = it.totalClaimed - sums.totalClaimed;
        sums.totalClaimed = it.totalClaimed;
        receivers[it.voucher.channel.receiver][it.voucher.channel.token].totalClaimed += more;
        emit Claimed(id, msg.sender, more, it.totalClaimed);
    }

    function settle(address receiver, address token) external {
        Received storage it = receivers[receiver][token];
        uint128 amount = it.totalClaimed - it.totalSettled;
        if (amount == 0) return;
        it.totalSettled = it.totalClaimed;
        require(Token(token).transfer(receiver, amount), "transfer");
        emit Settled(receiver, token, msg.sender, amount);
    }

    function initiateWithdraw(ChannelConfig calldata config, uint128 amount) external {
        require(msg.sender == config.payer || msg.sender == config.payerAuthorizer, "InvalidChannel");
        bytes32 id = getChannelId(config);
        require(pendingWithdrawals[id].initiatedAt == 0, "WithdrawalAlreadyPending");
        require(amount > 0 && amount <= channels[id].balance - channels[id].totalClaimed, "WithdrawAmount");
        pendingWithdrawals[id] = Withdrawal(amount, uint40(block.timestamp));
        emit WithdrawInitiated(id, amount, uint40(block.timestamp) + config.withdrawDelay);
    }

    function finalizeWithdraw(ChannelConfig calldata config) external {
        require(msg.sender == config.payer || msg.sender == config.payerAuthorizer, "NotAuthorized");
        bytes32 id = getChannelId(config);
        Withdrawal memory it = pendingWithdrawals[id];
        require(it.initiatedAt != 0, "WithdrawalNotPending");
        require(block.timestamp >= uint256(it.initiatedAt) + config.withdrawDelay, "WithdrawDelayNotElapsed");
        uint128 left = channels[id].balance - channels[id].totalClaimed;
        uint128 amount = it.amount > left ? left : it.amount;
        delete pendingWithdrawals[id];
        channels[id].balance -= amount;
        require(Token(config.token).transfer(config.payer, amount), "transfer");
    }

    function getChannelId(ChannelConfig calldata config) public view returns (bytes32) {
        return typed(keccak256(abi.encode(CONFIG, config)));
    }

    function typed(bytes32 what) private view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(DOMAIN, keccak256("x402 Batch Settlement"), keccak256("1"), block.chainid, address(this))
        );
        return keccak256(abi.encodePacked("\x19\x01", domain, what));
    }

    function signer(bytes32 digest, bytes calldata it) private pure returns (address found) {
        require(it.length == 65 && uint256(bytes32(it[32:64])) <= HALF, "InvalidSignature");
        found = ecrecover(digest, uint8(it[64]), bytes32(it[0:32]), bytes32(it[32:64]));
        require(found != address(0), "InvalidSignature");
    }
}

contract DepositCollector {
    address private constant CHANNELS = 0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003;

    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data) external {
        require(msg.sender == CHANNELS, "OnlyChannels");
        (uint256 validAfter, uint256 validBefore, uint256 salt, bytes memory signature) =
            abi.decode(data, (uint256, uint256, uint256, bytes));
        bytes32 nonce = keccak256(abi.encode(channelId, salt));
        Token(token).receiveWithAuthorization(
            payer, address(this), amount, validAfter, validBefore, nonce, signature
        );
        require(Token(token).transfer(CHANNELS, amount), "transfer");
    }
}
